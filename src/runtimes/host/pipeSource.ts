import { readSync } from 'node:fs';
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import type { ByteSource } from '../runtime.ts';
import { starterNow } from './starter/current.ts';

/** What most programs print fits into it. */
const FIRST_BYTES = 4 * 1024;
/** As much as a pipe holds by default. */
const MOST_BYTES = 64 * 1024;

/** After so much it is a flood. */
const FLOOD_BYTES = 1024 * 1024;

/**
 * What the pipe of a flood shall hold, so that its two ends wait for each other less often. A quarter of what it may:
 * all pipes of an ordinary user share one allowance (`pipe-user-pages-soft` in pipe(7)).
 */
const FLOOD_PIPE_BYTES = 256 * 1024;

/**
 * Reads a pipe through one buffer that is used again and again. A stream would make a new one for each read,
 * and a flood of gigabytes would then fill the memory faster than it is collected.
 */
export class PipeSource implements ByteSource {
  readonly #socket: Socket;
  readonly #descriptor: number;
  #buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #chunk: Uint8Array | undefined;
  #ended = false;
  #onlyWhatIsThere = false;
  #holdsUs = true;
  #error: Error | undefined;
  #wake: () => void = () => {};

  /** Takes the descriptor over. */
  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    let bytes = 0;
    const onread: OnReadOpts = {
      // Asked for again after each read, when what was read is not used yet.
      buffer: () => this.#buffer,
      callback: (length, buffer) => {
        this.#chunk = buffer.subarray(0, length);
        if (length === buffer.length && length < MOST_BYTES)
          this.#buffer = Buffer.allocUnsafeSlow(MOST_BYTES);
        if (bytes < FLOOD_BYTES && bytes + length >= FLOOD_BYTES) {
          starterNow()?.enlarge(descriptor, FLOOD_PIPE_BYTES);
        }
        bytes += length;
        this.#wake();
        // No further read before this one has been used.
        return false;
      },
    };
    // The constructor takes `onread`, as the documentation says; its types only know it of `connect`.
    const options: SocketConstructorOpts & { onread: OnReadOpts } = {
      fd: descriptor,
      readable: true,
      writable: false,
      onread,
    };
    this.#socket = new Socket(options);
    this.#socket.once('close', () => {
      this.#ended = true;
      this.#wake();
    });
    this.#socket.once('error', (error) => {
      this.#error = error;
    });
    this.#socket.pause();
    // Until somebody reads, it is no reason for this process to go on.
    this.#socket.unref();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    if (this.#holdsUs) this.#socket.ref();
    try {
      for (;;) {
        const chunk = await this.take();
        if (chunk === undefined) return;
        yield chunk;
      }
    } finally {
      this.destroy();
    }
  }

  /** The next chunk, undefined at the end; unlike an iteration it does not keep this process alive. */
  async take(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#chunk;
      this.#chunk = undefined;
      if (chunk !== undefined) return chunk;
      if (this.#error) throw this.#error;
      if (this.#ended || this.#socket.destroyed) return undefined;
      if (this.#onlyWhatIsThere) return this.#takeWhatIsThere();
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#socket.resume();
      await woken;
    }
  }

  /**
   * Ends it behind what is in the pipe when that has been read, whoever holds its other end: to be called when all whose
   * output counts have ended.
   */
  finish(): void {
    this.#onlyWhatIsThere = true;
    this.#socket.pause();
    this.#wake();
  }

  /** From here on whoever reads it is no reason for this process to go on either. */
  unref(): void {
    this.#holdsUs = false;
    this.#socket.unref();
  }

  destroy(): void {
    this.#socket.destroy();
    this.#wake();
  }

  #takeWhatIsThere(): Uint8Array | undefined {
    const length = readNow(this.#descriptor, this.#buffer);
    if (length > 0) return this.#buffer.subarray(0, length);
    this.destroy();
    return undefined;
  }
}

/** How many bytes there were to read from a descriptor that does not wait. */
function readNow(descriptor: number, buffer: Uint8Array): number {
  try {
    return readSync(descriptor, buffer);
  } catch (error) {
    // Nothing is there, and somebody still holds the other end.
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
    throw error;
  }
}
