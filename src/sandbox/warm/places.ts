import { SandboxError } from '../../errors.ts';
import { onAbort } from '../onAbort.ts';

/** So many executions at a time; as many again may wait for a place, in the order in which they came. */
export class Places {
  readonly #limit: number;
  readonly #waiting = new Set<() => void>();
  #inUse = 0;

  /** `Infinity` for no limit. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get inUse(): number {
    return this.#inUse;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Resolves once there is a place, which is kept until `leave`. Throws `POOL_EXHAUSTED` when there is no room to wait
   * either; rejects with the signal's reason.
   */
  enter(signal?: AbortSignal): Promise<void> | undefined {
    if (this.#inUse < this.#limit) {
      this.#inUse++;
      return undefined;
    }
    if (this.#waiting.size >= this.#limit) throw exhausted(this.#inUse, this.#waiting.size, this.#limit);
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        stopListening();
        resolve();
      };
      const stopListening = onAbort(signal, () => {
        this.#waiting.delete(begin);
        reject(signal?.reason);
      });
      this.#waiting.add(begin);
    });
  }

  /** Gives the place back: whoever waited longest has it then. */
  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#inUse--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

function exhausted(inUse: number, waiting: number, limit: number): SandboxError {
  return new SandboxError(
    'POOL_EXHAUSTED',
    `${inUse} executions run in sandboxes of their own and ${waiting} wait; ${limit} may run at a time, and as many wait.`,
    {
      hint: 'Ask again when some of them have ended, or allow more with warm.max_concurrent.',
      details: { inUse, waiting, limit },
    },
  );
}
