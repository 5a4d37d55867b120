import { SandboxError } from '../errors.ts';

export type StreamName = 'stdout' | 'stderr';

export interface PageRequest {
  /** `stdout` by default. */
  readonly stream?: StreamName;
  /** In bytes from the beginning of the stream; 0 by default. */
  readonly offset?: number;
  /** In bytes; 65,536 by default. */
  readonly limit?: number;
}

/** A piece of one stream. Whoever asks for `nextOffset` next misses nothing that is still kept. */
export interface OutputPage {
  readonly stream: StreamName;
  /** The bytes as UTF-8, invalid ones replaced; a character is never split over two pages. */
  readonly text: string;
  readonly bytes: Uint8Array;
  /** Where the bytes begin: behind what was asked for, where that is no longer kept. */
  readonly offset: number;
  readonly nextOffset: number;
  /** How much the program has written to the stream so far. */
  readonly totalBytes: number;
  /** How much of that is no longer kept. */
  readonly droppedBytes: number;
  /** Nothing more will come: with `nextOffset` at `totalBytes` this is the last page. */
  readonly ended: boolean;
}

/** What of a stream is kept, by the offset in the whole of it. */
export interface KeptStream {
  readonly totalBytes: number;
  readonly droppedBytes: number;
  readonly ended: boolean;
  /** The kept bytes from the first kept one at or after the offset; at most `limit`, none at the end. */
  copy(offset: number, limit: number): { readonly offset: number; readonly bytes: Uint8Array };
}

const DEFAULT_LIMIT = 64 * 1024;

/** More at once would be no page. */
const MAX_LIMIT = 16 * 1024 ** 2;

/** The longest character of UTF-8; a page must have room for one. */
const CHARACTER_BYTES = 4;

/** Cuts one page. Throws `INPUT_INVALID` for an offset or a limit that is none. */
export function readPage(kept: KeptStream, request: PageRequest): OutputPage {
  const { stream = 'stdout', offset = 0, limit = DEFAULT_LIMIT } = request;
  checkRequest(stream, offset, limit);
  const { totalBytes, droppedBytes, ended } = kept;
  const found = kept.copy(Math.min(offset, totalBytes), Math.max(limit, CHARACTER_BYTES));
  const moved = found.offset > offset;
  // Where the rest of a character was cut off, nobody can read what is left of it.
  const skipped = moved ? continuationBytes(found.bytes) : 0;
  const rest = found.bytes.subarray(skipped);
  const start = found.offset + skipped;
  const isLast = ended && start + rest.length >= totalBytes;
  const bytes = isLast ? rest : rest.subarray(0, rest.length - unfinishedBytes(rest));
  return {
    stream,
    text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes),
    bytes,
    offset: start,
    nextOffset: start + bytes.length,
    totalBytes,
    droppedBytes,
    ended,
  };
}

function checkRequest(stream: unknown, offset: number, limit: number): void {
  const wrong =
    stream !== 'stdout' && stream !== 'stderr'
      ? `stream (${String(stream).slice(0, 100)}) must be stdout or stderr`
      : !Number.isSafeInteger(offset) || offset < 0
        ? `offset (${offset}) must be a whole number from 0`
        : !Number.isSafeInteger(limit) || limit < 1 || limit > MAX_LIMIT
          ? `limit (${limit}) must be a whole number from 1 to ${MAX_LIMIT}`
          : undefined;
  if (wrong === undefined) return;
  throw new SandboxError('INPUT_INVALID', `The option ${wrong}.`, {
    hint: "Ask with { stream: 'stdout', offset: 0, limit: 65536 }, then from nextOffset.",
  });
}

/** How many bytes at the beginning belong to a character that began before. */
function continuationBytes(bytes: Uint8Array): number {
  let count = 0;
  while (count < CHARACTER_BYTES - 1 && isContinuation(bytes[count])) count++;
  return count;
}

/** How many bytes at the end are the beginning of a character that is not there as a whole. */
function unfinishedBytes(bytes: Uint8Array): number {
  for (let back = 1; back < CHARACTER_BYTES && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    const length = byte >= 0xf0 && byte < 0xf8 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    // What begins no character, or one that is whole, is not waited for.
    return byte < 0xf8 && length > back ? back : 0;
  }
  return 0;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
