import { onAbort } from './onAbort.ts';

/** Lets one after another have its turn, in the order in which they came. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves as `run` does, or with `instead` when the signal comes while it still waits; then it never runs. */
  take<T>(
    run: () => Promise<T>,
    signal: AbortSignal | undefined,
    instead: () => T | PromiseLike<T>,
  ): Promise<T> {
    let begun = false;
    const turn = this.#last.then(() => {
      if (signal?.aborted) return instead();
      begun = true;
      return run();
    });
    this.#last = turn.catch(() => {});
    if (signal === undefined) return turn;
    return new Promise<T>((resolve, reject) => {
      const giveUp = (): void => {
        if (!begun) resolve(instead());
      };
      turn.then(resolve, reject).finally(onAbort(signal, giveUp));
    });
  }
}
