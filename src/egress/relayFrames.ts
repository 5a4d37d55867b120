/**
 * The frames of a relay's channel: pure, between bytes and what they say. What they mean, and in which order they
 * may come, stands in `relayChannel.ts`.
 */

/** What kinds of frames there are, and how many bytes follow on the header of one that the relay says. */
const KINDS = {
  hello: { type: 1, bytes: 1 },
  open: { type: 2, bytes: 0 },
  opened: { type: 3, bytes: 0 },
  refused: { type: 4, bytes: 4 },
  data: { type: 5, bytes: undefined },
  credit: { type: 6, bytes: 4 },
  end: { type: 7, bytes: 0 },
  reset: { type: 8, bytes: 0 },
} as const;

type Kind = keyof typeof KINDS;
type Signal = Exclude<Kind, 'data'>;

export type Frame =
  /** Part of a frame with data, perhaps; only valid until the next frame is asked for. */
  | { readonly kind: 'data'; readonly id: number; readonly data: Uint8Array }
  /** `value` is what follows on the header, as one number. */
  | { readonly kind: Signal; readonly id: number; readonly value: number };

export const MOST_DATA_BYTES = 32 * 1024;
const HEADER_BYTES = 9;
const LONGEST_SIGNAL_BYTES = 4;

const KIND_OF_TYPE = new Map<number, Kind>(
  Object.entries(KINDS).map(([kind, { type }]) => [type, kind as Kind]),
);

/** Thrown for what no relay of ours says. */
export class BrokenChannel extends Error {}

/** Takes apart what the relay says, however it is cut into pieces. It holds on to no more than one header. */
export class FrameReader {
  readonly #head = Buffer.alloc(HEADER_BYTES + LONGEST_SIGNAL_BYTES);
  #headLength = 0;
  /** The frame with data that is being read, and how much of it is still to come. */
  #data = { id: 0, left: 0 };

  /** Throws {@link BrokenChannel} at the first byte that cannot be right. */
  *read(chunk: Uint8Array): Generator<Frame> {
    for (let at = 0; at < chunk.length; ) {
      if (this.#data.left > 0) {
        const data = chunk.subarray(at, at + this.#data.left);
        this.#data.left -= data.length;
        at += data.length;
        yield { kind: 'data', id: this.#data.id, data };
        continue;
      }
      const wanted = this.#wanted();
      const taken = Math.min(wanted - this.#headLength, chunk.length - at);
      this.#head.set(chunk.subarray(at, at + taken), this.#headLength);
      this.#headLength += taken;
      at += taken;
      const signal = this.#finish();
      if (signal !== undefined) yield signal;
    }
  }

  /** How long the header is, with what follows on it in a frame without data. */
  #wanted(): number {
    return this.#headLength < HEADER_BYTES ? HEADER_BYTES : HEADER_BYTES + this.#head.readUInt32LE(5);
  }

  #finish(): Frame | undefined {
    if (this.#headLength < HEADER_BYTES) return undefined;
    const { kind, id, length } = this.#header();
    if (kind === 'data') {
      this.#headLength = 0;
      this.#data = { id, left: length };
      return undefined;
    }
    if (this.#headLength < HEADER_BYTES + length) return undefined;
    this.#headLength = 0;
    return { kind, id, value: length === 0 ? 0 : this.#head.readUIntLE(HEADER_BYTES, length) };
  }

  #header(): { kind: Kind; id: number; length: number } {
    const type = this.#head.readUInt8(0);
    const kind = KIND_OF_TYPE.get(type);
    if (kind === undefined) throw new BrokenChannel(`a frame of type ${type}`);
    const length = this.#head.readUInt32LE(5);
    const { bytes } = KINDS[kind];
    const fits = bytes === undefined ? length > 0 && length <= MOST_DATA_BYTES : length === bytes;
    if (!fits) throw new BrokenChannel(`${length} bytes in a frame of type ${kind}`);
    return { kind, id: this.#head.readUInt32LE(1), length };
  }
}

/** The header of a frame with so many bytes of data. */
export function dataHeader(id: number, length: number): Buffer {
  return frame(KINDS.data.type, id, length, 0);
}

/** A frame of ours that carries no data: `open` says a port, `credit` how much. */
export function signalFrame(kind: 'open' | 'credit' | 'end' | 'reset', id: number, value = 0): Buffer {
  const bytes = kind === 'open' ? 2 : KINDS[kind].bytes;
  const made = frame(KINDS[kind].type, id, bytes, bytes);
  if (bytes > 0) made.writeUIntLE(value, HEADER_BYTES, bytes);
  return made;
}

function frame(type: number, id: number, length: number, follows: number): Buffer {
  const made = Buffer.alloc(HEADER_BYTES + follows);
  made.writeUInt8(type, 0);
  made.writeUInt32LE(id, 1);
  made.writeUInt32LE(length, 5);
  return made;
}
