import { printableName } from '../../archive/printableName.ts';
import type { FileEntry } from '../runtime.ts';

/** The kind (a letter of `find`, or a mode in hexadecimal digits), the size, the time in seconds, and the name. */
const RECORD = /^(?:([a-zA-Z])|([0-9a-f]{4})) (\d+) (-?\d+)(?:\.\d+)? /;

/** Longer than what comes before any name. */
const LONGEST_START = 80;

/** What the file script says about a folder: a record for each entry, ended by a NUL, with a name of any bytes. Pure. */
export function parseListing(output: Uint8Array, folder: string): FileEntry[] {
  const bytes = Buffer.from(output.buffer, output.byteOffset, output.byteLength);
  const found: { raw: Buffer; entry: FileEntry }[] = [];
  for (let start = 0, end = bytes.indexOf(0); end >= 0; start = end + 1, end = bytes.indexOf(0, start)) {
    const record = bytes.subarray(start, end);
    const [before = '', letter, mode = '', size, seconds] =
      RECORD.exec(record.subarray(0, LONGEST_START).toString('latin1')) ?? [];
    if (before === '') continue;
    const raw = record.subarray(before.length);
    const name = printableName(raw);
    const type = letter === undefined ? ofMode(Number.parseInt(mode, 16)) : OF_LETTER[letter];
    const modifiedAt = new Date(Number(seconds) * 1000).toISOString();
    found.push({
      raw,
      entry: { name, path: `${folder}/${name}`, type: type ?? 'other', size: Number(size), modifiedAt },
    });
  }
  return found.sort((a, b) => Buffer.compare(a.raw, b.raw)).map(({ entry }) => entry);
}

const OF_LETTER: Readonly<Record<string, FileEntry['type']>> = { f: 'file', d: 'directory', l: 'symlink' };

/** By the kind in a mode (inode(7)). */
function ofMode(mode: number): FileEntry['type'] {
  const kind = mode & 0o170000;
  if (kind === 0o100000) return 'file';
  if (kind === 0o040000) return 'directory';
  return kind === 0o120000 ? 'symlink' : 'other';
}
