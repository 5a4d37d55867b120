import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import type { ByteSource } from '../runtime.ts';
import { starterNow } from './starter/current.ts';

/** As much as a pipe holds by default. */
const BUFFER_BYTES = 64 * 1024;

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
  #chunk: Uint8Array | undefined;
  #ended = false;
  #error: Error | undefined;
  #wake: () => void = () => {};

  /** Takes the descriptor over. */
  constructor(descriptor: number) {
    let bytes = 0;
    const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
    const onread: OnReadOpts = {
      buffer,
      callback: (length) => {
        this.#chunk = buffer.subarray(0, length);
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
    this.#socket.ref();
    try {
      for (;;) {
        if (this.#chunk === undefined && !this.#ended) {
          const woken = new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          this.#socket.resume();
          await woken;
        }
        const chunk = this.#chunk;
        this.#chunk = undefined;
        if (chunk !== undefined) yield chunk;
        else if (this.#error) throw this.#error;
        else if (this.#ended) return;
      }
    } finally {
      this.destroy();
    }
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
