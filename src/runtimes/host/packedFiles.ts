import type { LeftOut } from '../../archive/entry.ts';
import type { Archive } from '../runtime.ts';

/** An archive that is made while it is read, and what it holds open until then. */
export class PackedFiles implements Archive {
  readonly leftOut: readonly LeftOut[];
  /** Settles when all that it held is closed. */
  readonly closed: Promise<void>;
  readonly #chunks: AsyncGenerator<Uint8Array>;
  readonly #interrupt: () => void;
  #failure: unknown;
  #close: () => void = () => {};

  constructor(parts: {
    readonly chunks: AsyncGenerator<Uint8Array>;
    readonly leftOut: readonly LeftOut[];
    readonly signal: AbortSignal;
    /** Ends a wait that the chunks may be in. */
    readonly interrupt?: () => void;
    readonly release: () => void;
  }) {
    const { signal } = parts;
    this.leftOut = parts.leftOut;
    this.#chunks = parts.chunks;
    this.#interrupt = parts.interrupt ?? (() => {});
    const onAbort = (): void => {
      this.#failure ??= signal.reason;
      this.destroy();
    };
    this.closed = new Promise<void>((resolve) => {
      this.#close = resolve;
    }).then(() => {
      signal.removeEventListener('abort', onAbort);
      parts.release();
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  }

  /** No generator: one that nobody has asked for anything does not notice that it is given up. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.destroy();
        await this.closed;
        return { value: undefined, done: true };
      },
    };
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    try {
      const next = await this.#chunks.next();
      if (!next.done) return next;
      if (this.#failure !== undefined) throw this.#failure;
      this.destroy();
      await this.closed;
      return next;
    } catch (error) {
      this.destroy();
      await this.closed;
      throw this.#failure ?? error;
    }
  }

  destroy(): void {
    this.#interrupt();
    // It closes what it has opened when it comes to its next step.
    void this.#chunks.return(undefined).then(this.#close, this.#close);
  }
}
