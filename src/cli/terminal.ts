/**
 * Text that is not ours, made safe for a terminal or a log line: control, format and separator characters
 * (escape sequences, bidirectional marks, line breaks) are shown as escapes instead of taking effect.
 */
export function forTerminal(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code <= 0xff ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/** The same for text of several lines, which stay lines; tabs stay too. */
export function linesForTerminal(text: string): string {
  return text
    .split('\n')
    .map((line) => line.split('\t').map(forTerminal).join('\t'))
    .join('\n');
}
