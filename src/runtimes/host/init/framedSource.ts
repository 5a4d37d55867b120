import type { ByteSource } from '../../runtime.ts';

const WORD_BYTES = 4;

/** What the first process says of a program that has ended. */
export interface FramedEnd {
  /** As `wait4` gives it. */
  readonly status: number;
  /** How many processes the memory limit has ended; absent where nobody inside can tell. */
  readonly oomKills?: number;
}

/**
 * One stream of a first process that writes in frames (see `init.c`): what the program wrote, up to the program's end.
 * The program has no way to write to the stream but in a frame, so that it cannot say that it has ended.
 */
export class FramedSource implements ByteSource {
  /**
   * Settles when no more will come: with how the program ended, or with nothing when the stream was given up, or was
   * cut off before the program's end.
   */
  readonly ended: Promise<FramedEnd | undefined>;
  readonly #stream: ByteSource;
  readonly #chunks: AsyncIterator<Uint8Array>;
  #end: (end?: FramedEnd) => void = () => {};
  #rest: Uint8Array = new Uint8Array();

  /** Takes the stream over. */
  constructor(stream: ByteSource) {
    this.#stream = stream;
    this.#chunks = stream[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const length = await this.#word();
        if (length === undefined) return;
        if (length === 0) return this.#end(await this.#readEnd());
        for (let left = length; left > 0; ) {
          const part = await this.#part(left);
          if (part === undefined) return;
          left -= part.length;
          yield part;
        }
      }
    } finally {
      this.destroy();
    }
  }

  /** The first so many bytes of the program's; undefined when there are not as many. To be asked before it is read. */
  async first(length: number): Promise<string | undefined> {
    if ((await this.#word()) !== length) return undefined;
    return (await this.#exactly(length))?.toString('latin1');
  }

  destroy(): void {
    this.#end();
    this.#stream.destroy();
  }

  async #readEnd(): Promise<FramedEnd | undefined> {
    const words = await this.#exactly(2 * WORD_BYTES);
    if (words === undefined) return undefined;
    const oomKills = words.readInt32LE(WORD_BYTES);
    return { status: words.readInt32LE(0), ...(oomKills < 0 ? {} : { oomKills }) };
  }

  async #word(): Promise<number | undefined> {
    return (await this.#exactly(WORD_BYTES))?.readUInt32LE(0);
  }

  async #exactly(length: number): Promise<Buffer | undefined> {
    const bytes = Buffer.alloc(length);
    for (let filled = 0; filled < length; ) {
      const part = await this.#part(length - filled);
      if (part === undefined) return undefined;
      bytes.set(part, filled);
      filled += part.length;
    }
    return bytes;
  }

  async #part(most: number): Promise<Uint8Array | undefined> {
    if (this.#rest.length === 0) {
      const { value, done } = await this.#chunks.next();
      if (done) return undefined;
      this.#rest = value;
    }
    const part = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }
}
