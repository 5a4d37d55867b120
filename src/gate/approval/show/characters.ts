/** Which characters a person can trust to be what they look like. */

/** What our own display is drawn with: whoever reads one of these knows that it is not from the code. */
export const OURS = {
  open: '⟦',
  close: '⟧',
  tab: '⇥',
  trailingSpace: '␠',
  row: '┃',
  frame: '━',
  continued: '↪',
} as const;

const RESERVED: ReadonlySet<string> = new Set(Object.values(OURS));

/** Controls, formats, unassigned, private, surrogates; spaces and line ends; what a font may leave out. */
const HIDDEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u;

/** Drawn as nothing, as an empty box or as what stands for something else, though their category is a visible one. */
const BLANK = /[\u2800\u303f\ufffc\ufffd\u{13441}\u{13442}\u{16fe4}\u{1d159}]/u;

/** Letters that turn the order of everything around them: the blocks that Unicode gives to right-to-left scripts. */
const RIGHT_TO_LEFT =
  /[\u0590-\u08ff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Parts of syllables, which are drawn like the whole syllable that is a character of its own. */
const HANGUL_PARTS = /[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]/u;

/** Marks that cover, strike out or enclose the letter before them. */
const COVERING = /\p{Me}|[\u0334-\u0338]|[\u20d0-\u20ff]/u;

/** More than this on one letter begin to reach into the lines around it. */
const MAX_MARKS = 2;

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
const MARK = /\p{M}/u;

/** A character outside ASCII that is drawn, stays in its place, and is drawn like no other character by definition. */
export function isPlain(character: string): boolean {
  return (
    !RESERVED.has(character) &&
    !HIDDEN.test(character) &&
    !BLANK.test(character) &&
    !RIGHT_TO_LEFT.test(character) &&
    !HANGUL_PARTS.test(character) &&
    // The Greek question mark is drawn like a semicolon, the Kelvin sign like a K.
    character.normalize('NFC') === character
  );
}

export function isMark(character: string): boolean {
  return MARK.test(character);
}

/** Whether a mark may be drawn on what stands before it: on a letter, few, and not like a character of its own. */
export function mayCarry(cluster: string, mark: string): boolean {
  return (
    [...cluster].length <= MAX_MARKS &&
    LETTER_OR_DIGIT.test(cluster) &&
    !COVERING.test(mark) &&
    (cluster + mark).normalize('NFC') === cluster + mark
  );
}
