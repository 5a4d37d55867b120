/** Text that comes from inside a sandbox, as it is shown on a page. Pure. */

/**
 * Controls, formats, characters that are unassigned, private or half, other line ends, what is drawn as nothing, and our
 * own brackets. Tabs and line feeds stay, and so do the two signs that choose how an emoji is drawn.
 */
const HIDDEN =
  /[^\P{C}\t\n]|[\p{Zl}\p{Zp}\u2800\u27e6\u27e7]|(?![\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}/gu;

/**
 * The text with everything that is not plainly visible as what it is: `⟦U+001B⟧`. Nothing of it acts on a terminal or
 * turns what stands around it; whoever shows it escapes it for HTML as any text. The brackets of the text itself are
 * escapes too, so that none of them is taken for one of ours.
 */
export function shown(text: string): string {
  return text.replace(HIDDEN, escapeOf);
}

/** The same on one line, of at most so many characters before they are shown so. */
export function shownLine(text: string, limit = 200): string {
  const start = [...text.slice(0, 2 * limit)].slice(0, limit).join('');
  return `${shown(start).replace(/[\t\n]/g, escapeOf)}${start.length < text.length ? '…' : ''}`;
}

function escapeOf(character: string): string {
  const digits = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `⟦U+${digits}⟧`;
}
