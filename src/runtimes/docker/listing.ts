import { printableName } from '../host/workspaceFiles.ts';
import type { FileEntry } from '../runtime.ts';

const SPACE = 0x20;
const NEWLINE = 0x0a;

/**
 * What the file script says about a folder: again and again some names, each ended by a NUL, an empty one, and a
 * line for each of those that are there, up to another NUL. Names may hold line feeds and anything else but a
 * NUL, so each line is read with the name in hand that it must end in. Pure.
 */
export function parseListing(output: Uint8Array, folder: string): FileEntry[] {
  const parts = splitAtNul(Buffer.from(output.buffer, output.byteOffset, output.byteLength));
  const found: { raw: Buffer; entry: FileEntry }[] = [];
  for (let next = 0; next < parts.length; ) {
    const names: Buffer[] = [];
    for (let part = parts[next++]; part !== undefined && part.length > 0; part = parts[next++])
      names.push(part);
    let lines = parts[next++] ?? Buffer.alloc(0);
    for (const raw of names) {
      const described = describe(lines, raw);
      // It was gone before it could be looked at, or the pattern matched nothing.
      if (described === undefined) continue;
      lines = lines.subarray(described.length);
      const name = printableName(raw);
      found.push({ raw, entry: { name, path: `${folder}/${name}`, ...described.facts } });
    }
  }
  return found.sort((a, b) => Buffer.compare(a.raw, b.raw)).map(({ entry }) => entry);
}

function describe(
  lines: Buffer,
  name: Buffer,
): { length: number; facts: Pick<FileEntry, 'type' | 'size' | 'modifiedAt'> } | undefined {
  const [, mode = '', size = '', seconds = ''] =
    /^([0-9a-f]+) (\d+) (-?\d+) \//.exec(lines.subarray(0, 80).toString('latin1')) ?? [];
  if (mode === '') return undefined;
  const start = mode.length + size.length + seconds.length + 4;
  const end = start + name.length;
  if (lines[start - 2] !== SPACE || lines[end] !== NEWLINE || !lines.subarray(start, end).equals(name))
    return undefined;
  return {
    length: end + 1,
    facts: {
      type: typeOf(Number.parseInt(mode, 16)),
      size: Number(size),
      modifiedAt: new Date(Number(seconds) * 1000).toISOString(),
    },
  };
}

/** By the kind in a mode (inode(7)). */
function typeOf(mode: number): FileEntry['type'] {
  switch (mode & 0o170000) {
    case 0o100000:
      return 'file';
    case 0o040000:
      return 'directory';
    case 0o120000:
      return 'symlink';
    default:
      return 'other';
  }
}

function splitAtNul(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0, start); end >= 0; end = bytes.indexOf(0, start)) {
    parts.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return parts;
}
