/** Text of at most so many characters: its two ends, and between them how much is left out. Pure. */
export function shorten(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const half = Math.floor(characters / 2);
  // Half of a surrogate pair would be no character any more.
  const start = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, '');
  const end = text.slice(text.length - half).replace(/^[\uDC00-\uDFFF]/, '');
  const left = text.length - start.length - end.length;
  const lines = text.slice(start.length, text.length - end.length).split('\n').length - 1;
  return `${start}\n... (${left} characters, ${lines} line breaks left out) ...\n${end}`;
}
