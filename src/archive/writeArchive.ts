/** Writes tar archives: POSIX.1-1988 ("ustar"), with what does not fit its fields as POSIX.1-2001 ("pax") says it. */
import { isUtf8 } from 'node:buffer';
import type { ArchiveEntry } from './entry.ts';

const BLOCK = 512;

/** What is gathered before it is handed over: many small files make few chunks. */
const ROOM_BYTES = 64 * 1024;

/** The largest number that eleven octal digits say. */
const MAX_OCTAL = 8 ** 11 - 1;

const ZEROS = Buffer.alloc(2 * BLOCK);

/**
 * The bytes of the archive; each chunk is the reader's own. Everything belongs to root, and the same entries make the
 * same bytes. Throws when a file is not as long as it was said to be.
 */
export async function* writeArchive(
  entries: Iterable<ArchiveEntry> | AsyncIterable<ArchiveEntry>,
): AsyncGenerator<Uint8Array> {
  let room = Buffer.allocUnsafe(ROOM_BYTES);
  let used = 0;
  /** Takes a small piece in; returns what has no room beside it, and a large piece as it is. */
  const gather = (piece: Uint8Array): readonly Uint8Array[] => {
    const isLarge = piece.byteLength > ROOM_BYTES / 2;
    const full: Uint8Array[] = [];
    if (used > 0 && (isLarge || used + piece.byteLength > ROOM_BYTES)) {
      full.push(room.subarray(0, used));
      room = Buffer.allocUnsafe(ROOM_BYTES);
      used = 0;
    }
    if (isLarge) return [...full, piece];
    room.set(piece, used);
    used += piece.byteLength;
    return full;
  };
  for await (const entry of entries) {
    for (const piece of headers(entry)) for (const full of gather(piece)) yield full;
    const { size = 0, content = [] } = entry;
    let length = 0;
    for await (const chunk of content) {
      length += chunk.byteLength;
      for (const full of gather(chunk)) yield full;
    }
    if (length !== size) throw new Error(`${entry.name} has ${length} bytes and not ${size}`);
    for (const full of gather(ZEROS.subarray(0, padding(size)))) yield full;
  }
  for (const full of gather(ZEROS)) yield full;
  yield room.subarray(0, used);
}

/** What follows content of this size up to the next block. */
function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

const TYPES = {
  file: '0',
  symlink: '2',
  directory: '5',
  extension: 'x',
  longName: 'L',
  longTarget: 'K',
} as const;

/** What comes before the content. Pure. */
function headers(entry: ArchiveEntry): Buffer[] {
  const { name, type, size = 0, target } = entry;
  const path = type === 'directory' ? Buffer.concat([name, Buffer.from('/')]) : name;
  const mode = type === 'directory' || entry.executable ? 0o755 : 0o644;
  const block = header({ path, type: TYPES[type], mode, size, target, modifiedAt: entry.modifiedAt ?? 0 });
  // Bytes that are no text can only be said as GNU tar says them; everybody reads that too.
  const words = [
    ...(isLongAndRaw(path) ? extension(TYPES.longName, Buffer.concat([path, NUL])) : []),
    ...(isLongAndRaw(target) ? extension(TYPES.longTarget, Buffer.concat([target, NUL])) : []),
  ];
  const records = [
    ...(fits(path) ? [] : [record('path', path)]),
    ...(target === undefined || fits(target) ? [] : [record('linkpath', target)]),
    ...(size > MAX_OCTAL ? [record('size', Buffer.from(String(size)))] : []),
  ];
  if (records.length > 0) words.push(...extension(TYPES.extension, Buffer.concat(records)));
  return [...words, block];
}

const NUL = Buffer.alloc(1);

function isLongAndRaw(value: Buffer | undefined): value is Buffer {
  return value !== undefined && value.length > 100 && !isUtf8(value);
}

/** True for what needs no extended header: what a field of a hundred bytes says to everybody, and what is no text. */
function fits(value: Buffer): boolean {
  return isUtf8(value) ? value.length <= 100 && isAscii(value) : true;
}

function isAscii(value: Buffer): boolean {
  return value.every((byte) => byte < 0x80);
}

/** An entry that says more about the one after it. */
function extension(type: string, content: Buffer): Buffer[] {
  const head = header({ path: Buffer.from('more'), type, mode: 0o644, size: content.length, modifiedAt: 0 });
  return [head, content, ZEROS.subarray(0, padding(content.length))];
}

/** A line that begins with its own length in bytes. */
function record(key: string, value: Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from('\n')]);
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

interface Fields {
  readonly path: Buffer;
  readonly type: string;
  readonly mode: number;
  readonly size: number;
  readonly modifiedAt: number;
  readonly target?: Buffer | undefined;
}

function header({ path, type, mode, size, modifiedAt, target }: Fields): Buffer {
  const block = Buffer.alloc(BLOCK);
  path.copy(block, 0, 0, 100);
  block.write(octal(mode, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  block.write(octal(size, 12), 124);
  block.write(octal(modifiedAt, 12), 136);
  block.write(' '.repeat(8), 148);
  block.write(type, 156);
  target?.copy(block, 157, 0, 100);
  block.write('ustar\x0000', 257, 'latin1');
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** A number as a field of this many bytes, the last of which is NUL; one that does not fit is said elsewhere. */
function octal(value: number, width: number): string {
  const whole = Math.min(Math.max(0, Math.floor(value) || 0), 8 ** (width - 1) - 1);
  return `${whole.toString(8).padStart(width - 1, '0')}\0`;
}
