/** What a program or the system complained about, as one line that ends as a sentence does. Pure. */
export function asSentence(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return /[.!?]$/.test(line) ? line : `${line}.`;
}
