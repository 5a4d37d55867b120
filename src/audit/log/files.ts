/** The files of a log, in their order, and the note of where it ends. */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../../files/namesIn.ts';
import { GENESIS, type Place } from './line.ts';

/** `audit-<number of its first record>.jsonl`, with zeros in front, so that their names sort as their records do. */
const PATTERN = /^audit-(\d{12})\.jsonl$/;

/** What is noted of the log's end, in a file of its own: what is missing behind it was cut off. */
export const HEAD = 'head.json';

/** The name of the file whose first record has this number. */
export function fileName(firstSeq: number): string {
  return `audit-${String(firstSeq).padStart(12, '0')}.jsonl`;
}

/** The number of a file's first record, as its name says. */
export function firstSeqOf(name: string): number {
  return Number(PATTERN.exec(name)?.[1] ?? Number.NaN);
}

/** The log's files, the oldest first; none where there is no such folder. */
export function logFiles(folder: string): string[] {
  return namesIn(folder)
    .filter((name) => PATTERN.test(name))
    .sort();
}

/** The place of the last record that was noted; undefined where there is no note, or none that can be read. */
export function readHead(folder: string): Place | undefined {
  try {
    const { seq, hash } = JSON.parse(readFileSync(join(folder, HEAD), 'utf8')) as Partial<Place>;
    const usable = Number.isSafeInteger(seq) && typeof hash === 'string' && hash.length === GENESIS.length;
    return usable ? { seq: seq as number, hash: hash as string } : undefined;
  } catch {
    return undefined;
  }
}

/** Notes the place of the last record: always as many bytes, in one write, so that no half of it is ever seen. */
export function writeHead(descriptor: number, { seq, hash }: Place): void {
  const text = `${JSON.stringify({ seq, hash }).padEnd(120)}\n`;
  writeSync(descriptor, text, 0);
}

const { O_APPEND, O_CREAT, O_RDWR } = constants;

/** Opens a file of the log, and makes it where it is not there; only its owner may read it. */
export function openLog(path: string): number {
  return openSync(path, O_RDWR | O_CREAT | O_APPEND, 0o600);
}

/** The same for the note of the log's end, which is written over. */
export function openHead(folder: string): number {
  return openSync(join(folder, HEAD), O_RDWR | O_CREAT, 0o600);
}

/** The last whole line of a file, and how many bytes of one that is not whole follow. */
export function tailOf(descriptor: number): { last: Buffer | undefined; torn: number; size: number } {
  const { size } = fstatSync(descriptor);
  let start = size;
  let bytes = Buffer.alloc(0);
  let lineEnds = -1;
  // Backwards, until there is a line's end and another one before it.
  while (start > 0) {
    const length = Math.min(64 * 1024, start);
    const chunk = Buffer.alloc(length);
    start -= length;
    readFully(descriptor, chunk, start);
    bytes = Buffer.concat([chunk, bytes]);
    lineEnds = bytes.lastIndexOf(0x0a);
    if (lineEnds > 0 && bytes.lastIndexOf(0x0a, lineEnds - 1) >= 0) break;
  }
  if (lineEnds < 0) return { last: undefined, torn: size, size };
  const begin = lineEnds === 0 ? 0 : bytes.lastIndexOf(0x0a, lineEnds - 1) + 1;
  return { last: bytes.subarray(begin, lineEnds), torn: bytes.length - lineEnds - 1, size };
}

/** Whether a line of the file begins like this. */
export function hasLine(descriptor: number, begin: string): boolean {
  const { size } = fstatSync(descriptor);
  const sought = Buffer.from(`\n${begin}`);
  // As if there were a line before the first one.
  let kept: Buffer = Buffer.from('\n');
  for (let at = 0; at < size; ) {
    const chunk = Buffer.alloc(Math.min(1024 * 1024, size - at));
    readFully(descriptor, chunk, at);
    at += chunk.length;
    const bytes = Buffer.concat([kept, chunk]);
    if (bytes.includes(sought)) return true;
    kept = bytes.subarray(-sought.length);
  }
  return false;
}

/** Reads until the buffer is full; throws when the file ends before. */
export function readFully(descriptor: number, buffer: Buffer, position: number): void {
  for (let at = 0; at < buffer.length; ) {
    const count = readSync(descriptor, buffer, at, buffer.length - at, position + at);
    if (count === 0) throw new Error('the file has become shorter meanwhile');
    at += count;
  }
}

/** Closes it, whatever else failed. */
export function closeQuietly(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch {
    // EBADF: it is closed.
  }
}
