/** A name as text; bytes that are not UTF-8 are shown as `\xNN`, and so is a backslash that would look like one. */
export function printableName(raw: Buffer): string {
  const text = raw.toString('utf8');
  const isText = Buffer.from(text).equals(raw);
  if (isText && !/\\x[0-9a-f]{2}/.test(text)) return text;
  if (isText) return text.replaceAll('\\', '\\x5c');
  return Array.from(raw, (byte) =>
    byte < 0x80 && byte !== 0x5c ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('');
}

/** The same for a path, of which each component is shown as if it stood alone. */
export function printablePath(raw: Buffer): string {
  const components: string[] = [];
  for (let start = 0; start <= raw.length; ) {
    const slash = raw.indexOf(0x2f, start);
    const end = slash < 0 ? raw.length : slash;
    components.push(printableName(raw.subarray(start, end)));
    start = end + 1;
  }
  return components.join('/');
}

/** The name that {@link printableName} shows so; any other text is a name as it stands. Pure. */
export function rawName(shown: string): Buffer {
  const literal = Buffer.from(shown);
  if (!/\\x[0-9a-f]{2}/.test(shown)) return literal;
  const decoded = shown.replace(/\\x([0-9a-f]{2})|[^\\]+|\\/g, (part, byte?: string) =>
    byte === undefined
      ? Buffer.from(part).toString('latin1')
      : String.fromCharCode(Number.parseInt(byte, 16)),
  );
  const raw = Buffer.from(decoded, 'latin1');
  // NUL and the slash are in no name, so nobody was shown them.
  return printableName(raw) === shown && !raw.includes(0) && !raw.includes(0x2f) ? raw : literal;
}
