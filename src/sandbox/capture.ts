import { TextDecoder } from 'node:util';

export interface Captured {
  /** UTF-8 with invalid bytes replaced; head and tail around a marker line when it was cut. */
  readonly text: string;
  /** True count of what was pushed. */
  readonly bytes: number;
  readonly truncated: boolean;
}

/** The line that stands where output was left out. */
export const TRUNCATION_MARKER = '... (output truncated)';

const NEWLINE = 0x0a;
const NOTHING = new Uint8Array(0);
const FIRST_BYTES = 1024;

/** Keeps the head and the tail of one byte stream; memory stays within the limit, whatever the flood. */
export class Capture {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  #head = NOTHING;
  /** A ring: byte `n` after the head stands at `n % tailLimit`. */
  #tail = NOTHING;
  #bytes = 0;

  constructor(limitBytes: number) {
    const limit = Math.max(0, Math.floor(limitBytes));
    this.#headLimit = Math.ceil(limit / 2);
    this.#tailLimit = limit - this.#headLimit;
  }

  /** Copies what may be kept; the chunk can be reused at once. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    const forHead = Math.min(chunk.length, Math.max(0, this.#headLimit - this.#bytes));
    if (forHead > 0) {
      this.#makeRoom(this.#bytes + forHead);
      this.#head.set(chunk.subarray(0, forHead), this.#bytes);
    }
    this.#pushTail(chunk.subarray(forHead), this.#bytes + forHead - this.#headLimit);
    this.#bytes += chunk.length;
  }

  /** The text so far; the suffix, e.g. why the program was ended, gets a line of its own and is never cut. */
  finish(suffix = ''): Captured {
    const truncated = this.#bytes > this.#headLimit + this.#tailLimit;
    const text = truncated ? this.#cutText() : this.#wholeText();
    return { text: suffix === '' ? text : endLine(text) + suffix, bytes: this.#bytes, truncated };
  }

  get totalBytes(): number {
    return this.#bytes;
  }

  /** How much of what was pushed is in neither of both. */
  get droppedBytes(): number {
    return Math.max(0, this.#bytes - this.#headLimit - this.#tailLimit);
  }

  /** A copy of the kept bytes from the first kept one at or after the offset; it ends where a gap begins. */
  copy(offset: number, limit: number): { readonly offset: number; readonly bytes: Uint8Array } {
    const headEnd = Math.min(this.#bytes, this.#headLimit);
    if (offset < headEnd) {
      return { offset, bytes: this.#head.slice(offset, Math.min(headEnd, offset + limit)) };
    }
    const start = Math.max(offset, headEnd + this.droppedBytes);
    const bytes = new Uint8Array(Math.max(0, Math.min(limit, this.#bytes - start)));
    // Byte `n` after the head stands at `n % tailLimit`, so what is wanted may be in two pieces.
    const first = bytes.length === 0 ? 0 : (start - this.#headLimit) % this.#tailLimit;
    const beforeWrap = this.#tail.subarray(first, first + bytes.length);
    bytes.set(beforeWrap, 0);
    bytes.set(this.#tail.subarray(0, bytes.length - beforeWrap.length), beforeWrap.length);
    return { offset: start, bytes };
  }

  /** Most output is short: what could be kept at most is not taken before it comes. */
  #makeRoom(bytes: number): void {
    if (bytes <= this.#head.length) return;
    const head = new Uint8Array(Math.min(this.#headLimit, Math.max(FIRST_BYTES, 2 * bytes)));
    head.set(this.#head);
    this.#head = head;
  }

  #pushTail(rest: Uint8Array, offset: number): void {
    const limit = this.#tailLimit;
    if (rest.length === 0 || limit === 0) return;
    if (this.#tail.length === 0) this.#tail = new Uint8Array(limit);
    const kept = rest.subarray(Math.max(0, rest.length - limit));
    const start = (offset + rest.length - kept.length) % limit;
    const beforeWrap = Math.min(kept.length, limit - start);
    this.#tail.set(kept.subarray(0, beforeWrap), start);
    this.#tail.set(kept.subarray(beforeWrap), 0);
  }

  #wholeText(): string {
    const head = this.#head.subarray(0, this.#bytes);
    if (this.#bytes <= this.#headLimit) return WHOLE.decode(head);
    const decoder = utf8();
    const tail = this.#tail.subarray(0, Math.max(0, this.#bytes - this.#headLimit));
    return decoder.decode(head, { stream: true }) + decoder.decode(tail);
  }

  #cutText(): string {
    // `stream` holds back the half character that the cut may have left at the end.
    const head = utf8().decode(upToLineEnd(this.#head), { stream: true });
    const tail = utf8().decode(fromLineStart(this.#unrolledTail()));
    return `${endLine(head)}${TRUNCATION_MARKER}\n${tail}`;
  }

  #unrolledTail(): Uint8Array {
    if (this.#tailLimit === 0) return NOTHING;
    const start = (this.#bytes - this.#headLimit) % this.#tailLimit;
    const unrolled = new Uint8Array(this.#tailLimit);
    unrolled.set(this.#tail.subarray(start), 0);
    unrolled.set(this.#tail.subarray(0, start), this.#tailLimit - start);
    return unrolled;
  }
}

/** A byte order mark is output like any other. */
function utf8(): TextDecoder {
  return new TextDecoder('utf-8', { ignoreBOM: true });
}

/** For what is decoded at once: it keeps nothing in between. */
const WHOLE = utf8();

function endLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** Cuts after the last line end where one lies in the last quarter. */
function upToLineEnd(head: Uint8Array): Uint8Array {
  const lineEnd = head.lastIndexOf(NEWLINE);
  return lineEnd >= 0 && lineEnd >= head.length - Math.floor(head.length / 4)
    ? head.subarray(0, lineEnd + 1)
    : head;
}

/** Starts after the first line end where one lies in the first quarter, else at the first whole character. */
function fromLineStart(tail: Uint8Array): Uint8Array {
  const lineEnd = tail.indexOf(NEWLINE);
  if (lineEnd >= 0 && lineEnd < Math.floor(tail.length / 4)) return tail.subarray(lineEnd + 1);
  let start = 0;
  // A character has at most three continuation bytes; any further one is invalid in its own right and stays.
  while (start < 3 && isContinuation(tail[start])) start++;
  return tail.subarray(start);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
