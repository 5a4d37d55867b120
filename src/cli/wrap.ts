/** How many columns a line of ours has at most. */
const COLUMNS = 100;

/**
 * Text as lines of at most 100 columns, cut at spaces, the first indented by `indent` and all others by
 * `hanging`. A longer word, such as a path, stays whole.
 */
export function wrap(text: string, indent = '', hanging: string = indent): string[] {
  const lines: string[] = [];
  let line = indent;
  let isEmpty = true;
  for (const word of text.split(' ')) {
    if (!isEmpty && line.length + 1 + word.length > COLUMNS) {
      lines.push(line);
      line = hanging;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line];
}
