const LONGEST = 200;

/** A value as a message shows it: JSON, at most 200 characters, with nothing that a terminal would obey. */
export function quote(value: unknown): string {
  const text = printable(asJson(value));
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`;
}

/** Text from outside with control, direction and other invisible characters written as escapes. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.codePointAt(0)?.toString(16).padStart(4, '0')}`,
  );
}

function asJson(value: unknown): string {
  // JSON turns NaN and Infinity into null, which would hide what was written.
  if (typeof value === 'number') return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // Cyclic, too deep or a BigInt: an API option may be anything, and the message must still come out.
    return `(${typeof value})`;
  }
}
