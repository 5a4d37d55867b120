import type { ByteSource } from '../../runtime.ts';

const NUMBER_BYTES = 4;

/** The length of the word that no program knows. */
export const SECRET_BYTES = 16;

/** What the first process says of a program that has ended. */
export interface FramedEnd {
  /** As `wait4` gives it. */
  readonly status: number;
  /** How many processes the memory limit has ended; absent where nobody inside can tell. */
  readonly oomKills?: number;
}

/**
 * One stream of a first process that writes in frames (see `init.c`): what the program wrote, up to the program's end.
 * The program cannot say that it has ended: it has no way to write to the stream but in a frame, or does not know the
 * secret. One that garbles its own stream cuts it off.
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

  readonly #secret: Uint8Array;

  /** Takes the stream over. The secret is what the first process was told on standard input, where it asks for one. */
  constructor(stream: ByteSource, secret: Uint8Array = Buffer.alloc(SECRET_BYTES)) {
    this.#stream = stream;
    this.#secret = secret;
    this.#chunks = stream[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const length = await this.#number();
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
    if ((await this.#number()) !== length) return undefined;
    return (await this.#exactly(length))?.toString('latin1');
  }

  destroy(): void {
    this.#end();
    this.#stream.destroy();
  }

  async #readEnd(): Promise<FramedEnd | undefined> {
    const end = await this.#exactly(2 * NUMBER_BYTES + SECRET_BYTES);
    if (end === undefined || !end.subarray(2 * NUMBER_BYTES).equals(this.#secret)) return undefined;
    const oomKills = end.readInt32LE(NUMBER_BYTES);
    return { status: end.readInt32LE(0), ...(oomKills < 0 ? {} : { oomKills }) };
  }

  async #number(): Promise<number | undefined> {
    return (await this.#exactly(NUMBER_BYTES))?.readUInt32LE(0);
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
