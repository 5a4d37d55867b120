import { closeSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';

const NOTHING = new Uint8Array();
/** What an empty pipe takes at once, as a rule. */
const PIPE_BYTES = 64 * 1024;

/** Our end of a pipe that a program reads: written at once where that is possible, and a stream only where it is not. */
export class WritablePipe {
  #descriptor: number | undefined;
  #stream: Socket | undefined;

  /** Takes the descriptor over, which does not block. */
  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** All that fits into an empty pipe is there when this returns; the rest follows. */
  write(pieces: readonly Uint8Array[]): void {
    const size = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const [first = NOTHING, ...others] = size <= PIPE_BYTES ? [Buffer.concat(pieces)] : pieces;
    const left = [first.subarray(this.#write(first)), ...others].filter(({ byteLength }) => byteLength > 0);
    for (const piece of left) this.take()?.write(piece);
  }

  /** Nothing more comes behind what was written. */
  end(): void {
    this.#stream?.end();
    this.#closeDescriptor();
  }

  /** The same as a stream, for what comes next; undefined when it has ended. */
  take(): Socket | undefined {
    if (this.#descriptor === undefined) return this.#stream;
    this.#stream = new Socket({ fd: this.#descriptor, readable: false, writable: true });
    this.#descriptor = undefined;
    // EPIPE: nobody reads any more, which the report of its end tells.
    this.#stream.on('error', () => {});
    return this.#stream;
  }

  close(): void {
    this.#stream?.destroy();
    this.#closeDescriptor();
  }

  /** How much of it the pipe took. */
  #write(bytes: Uint8Array): number {
    try {
      return this.#descriptor === undefined ? 0 : writeSync(this.#descriptor, bytes);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // EPIPE: it has ended, which the report tells.
      if (code === 'EAGAIN' || code === 'EPIPE') return 0;
      throw error;
    }
  }

  #closeDescriptor(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}
