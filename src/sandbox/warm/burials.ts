import { keptAlive } from './keptAlive.ts';

/**
 * Ends guests that were used, behind whatever goes on at the moment. So many may be on their way at a time: whoever brings
 * one more waits until another one is gone.
 */
export class Burials {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  readonly #dying = new Set<Promise<void>>();

  constructor(most: number) {
    this.#most = most;
  }

  get dying(): number {
    return this.#dying.size;
  }

  /** Resolves at once where few are dying. `failed` is told what `destroy` rejects with; this never rejects. */
  bury(destroy: () => Promise<void>, failed: (error: unknown) => void): Promise<void> {
    const burial = new Promise<void>((resolve) => {
      // Behind the result of the execution that used it, which is handed on before the event loop turns.
      setImmediate(() => {
        const over = (): void => {
          this.#dying.delete(burial);
          this.#waiting.shift()?.();
          resolve();
        };
        keptAlive((async () => destroy())())
          .catch(failed)
          .then(over, over);
      });
    });
    this.#dying.add(burial);
    if (this.#dying.size <= this.#most) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** Resolves when nothing is dying any more. */
  async settled(): Promise<void> {
    while (this.#dying.size > 0) await Promise.all(this.#dying);
  }
}
