import type { OutputChunk } from '../result/output.ts';
import type { ByteSource } from '../runtimes/runtime.ts';
import { Capture } from './capture.ts';
import { FrameReader, type FrameSink } from './frames.ts';

export interface ContextStreamOptions {
  readonly maxMessageBytes: number;
  /** Takes output of the cell that runs; undefined where none takes it. */
  readonly take: (bytes: Uint8Array) => void | Promise<void> | undefined;
  /** Whether a cell takes output now. */
  readonly isTaken: () => boolean;
  readonly hear: FrameSink['message'];
}

/** What threads and background jobs print between two cells: kept up to this size, for the next one. */
const BETWEEN_BYTES = 16 * 1024;
/** After the kernel's end somebody may still hold the pipe open: it is read until nothing came for this long. */
const DRAIN_IDLE_MS = 100;
const DRAIN_MS = 2000;

/** One of the two streams of a context's kernel, read all the time, so that nothing inside ever waits for us. */
export class ContextStream {
  readonly name: OutputChunk['stream'];
  /** Settles at the end of the stream; never rejects. */
  readonly ended: Promise<void>;
  readonly #source: ByteSource;
  readonly #frames: FrameReader;
  #between = new Capture(BETWEEN_BYTES);
  #chunks = 0;

  constructor(name: OutputChunk['stream'], source: ByteSource, options: ContextStreamOptions) {
    this.name = name;
    this.#source = source;
    this.#frames = new FrameReader(options.maxMessageBytes, {
      output: (bytes) => {
        if (options.isTaken()) return options.take(bytes);
        this.#between.push(bytes);
      },
      message: options.hear,
    });
    this.ended = this.#read();
  }

  /** Frames start with this token from now on. */
  expect(token: string): void {
    this.#frames.expect(token);
  }

  /** What came since the last cell. */
  takeBetween(): Uint8Array {
    const { text } = this.#between.finish();
    this.#between = new Capture(BETWEEN_BYTES);
    return Buffer.from(text);
  }

  /** Waits for the end, but not for whoever may hold the pipe open. */
  async drain(): Promise<void> {
    for (const deadline = performance.now() + DRAIN_MS; performance.now() < deadline; ) {
      const before = this.#chunks;
      const timer = new AbortController();
      const idle = new Promise<'idle'>((resolve) => {
        const timeout = setTimeout(resolve, DRAIN_IDLE_MS, 'idle');
        timer.signal.addEventListener('abort', () => clearTimeout(timeout), { once: true });
      });
      const end = await Promise.race([this.ended, idle]);
      timer.abort();
      if (end !== 'idle' || this.#chunks === before) break;
    }
    this.destroy();
    await this.ended;
  }

  destroy(): void {
    this.#source.destroy();
  }

  async #read(): Promise<void> {
    try {
      for await (const chunk of this.#source) {
        this.#chunks++;
        await this.#frames.push(chunk);
      }
    } catch {
      // Destroyed by `drain`, or broken: either way there is no more, which the end of the kernel tells.
    }
    await this.#frames.finish();
  }
}
