/**
 * What a context's kernel says stands in its own output, in frames: a mark, a token that only this execution has, a
 * kind, a length of four hexadecimal digits, a payload. Whatever is not a frame is output. A hostile program can forge
 * frames of its own execution, and so lie about that one; it cannot make us keep more than the limits.
 */

/** `c`: more of the same message comes; the others end a message. */
export type FrameKind = 'c' | 's' | 'r' | 'd' | 'x';

export interface FrameSink {
  /** A part of the program's own output; valid until the returned promise settles. */
  output(bytes: Uint8Array): void | Promise<void>;
  /** A whole message; null when it was longer than allowed. */
  message(kind: Exclude<FrameKind, 'c'>, payload: Buffer | null): void;
}

const MARK = '\x1e';
const KINDS = 'csrdx';
const NOTHING = Buffer.alloc(0);
/** Kind and length. */
const HEAD_BYTES = 5;

/** Takes the frames of one token out of one stream; keeps at most a message, and less than a head of the rest. */
export class FrameReader {
  readonly #maxMessageBytes: number;
  readonly #sink: FrameSink;
  #start: Buffer | undefined;
  /** What may be the beginning of a frame. */
  #held: Buffer = NOTHING;
  /** Of the frame that is being read; 0 outside of one. */
  #missing = 0;
  #kind: FrameKind = 'c';
  /** Grows with the message: frames may be as short as one byte. */
  #payload: Buffer = NOTHING;
  #length = 0;

  constructor(maxMessageBytes: number, sink: FrameSink) {
    this.#maxMessageBytes = maxMessageBytes;
    this.#sink = sink;
  }

  /** From now on frames start with this token; what was begun with another is forgotten. */
  expect(token: string): void {
    this.#start = Buffer.from(MARK + token, 'latin1');
    this.#forget();
  }

  async push(chunk: Uint8Array): Promise<void> {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (this.#held.length > 0) {
      rest = Buffer.concat([this.#held, rest]);
      this.#held = NOTHING;
    }
    while (rest.length > 0) {
      if (this.#missing > 0) {
        rest = this.#take(rest);
        continue;
      }
      const at = this.#find(rest);
      if (at > 0) await this.#sink.output(rest.subarray(0, at));
      rest = rest.subarray(at);
      const after = this.#begin(rest);
      if (after === undefined) {
        // A copy: the chunk is its owner's again.
        this.#held = Buffer.from(rest);
        return;
      }
      if (after === 0) {
        // It only looked like one.
        await this.#sink.output(rest.subarray(0, 1));
        rest = rest.subarray(1);
      } else rest = rest.subarray(after);
    }
  }

  /** Gives out what was held back; nothing more will come. */
  async finish(): Promise<void> {
    const held = this.#held;
    this.#held = NOTHING;
    if (held.length > 0) await this.#sink.output(held);
  }

  /** Where a frame starts or might start, else the end. */
  #find(bytes: Buffer): number {
    const start = this.#start;
    if (start === undefined) return bytes.length;
    const at = bytes.indexOf(start);
    if (at >= 0) return at;
    for (let from = Math.max(0, bytes.length - start.length + 1); ; from++) {
      from = bytes.indexOf(MARK, from, 'latin1');
      if (from < 0) return bytes.length;
      if (start.subarray(0, bytes.length - from).equals(bytes.subarray(from))) return from;
    }
  }

  /** How long the head is; 0 when it is none, undefined when more is needed to tell. */
  #begin(bytes: Buffer): number | undefined {
    const start = this.#start;
    if (start === undefined || bytes.length === 0) return bytes.length === 0 ? undefined : 0;
    const headBytes = start.length + HEAD_BYTES;
    if (bytes.length < headBytes) return undefined;
    const head = bytes.toString('latin1', start.length, headBytes);
    const kind = head[0] as FrameKind;
    if (!KINDS.includes(kind) || !/^[0-9a-f]{4}$/.test(head.slice(1))) return 0;
    this.#kind = kind;
    this.#missing = Number.parseInt(head.slice(1), 16);
    if (this.#missing === 0) this.#endFrame();
    return headBytes;
  }

  #take(bytes: Buffer): Buffer {
    const part = bytes.subarray(0, this.#missing);
    this.#keep(part);
    this.#missing -= part.length;
    if (this.#missing === 0) this.#endFrame();
    return bytes.subarray(part.length);
  }

  #keep(part: Buffer): void {
    const length = this.#length + part.length;
    if (length > this.#maxMessageBytes) this.#payload = NOTHING;
    else {
      if (length > this.#payload.length) {
        const larger = Buffer.alloc(
          Math.min(this.#maxMessageBytes, Math.max(length, 2 * this.#payload.length)),
        );
        this.#payload.copy(larger, 0, 0, this.#length);
        this.#payload = larger;
      }
      part.copy(this.#payload, this.#length);
    }
    this.#length = Math.min(length, this.#maxMessageBytes + 1);
  }

  #endFrame(): void {
    if (this.#kind === 'c') return;
    const payload = this.#length > this.#maxMessageBytes ? null : this.#payload.subarray(0, this.#length);
    this.#forget();
    this.#sink.message(this.#kind, payload);
  }

  #forget(): void {
    this.#missing = 0;
    this.#payload = NOTHING;
    this.#length = 0;
  }
}
