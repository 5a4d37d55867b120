/** The time was over before the work was done. */
export class Overdue extends Error {}

/**
 * Does some work within a time, or until the outer signal aborts: then the work's own signal aborts and this rejects,
 * whether the work looks at it or not. Throws {@link Overdue} when it was the time.
 */
export async function within<T>(
  seconds: number,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const stop = (): void => controller.abort(outer.reason);
  const timer = setTimeout(
    () => controller.abort(new Overdue(`Not done within ${seconds} s.`)),
    seconds * 1000,
  );
  timer.unref();
  outer.addEventListener('abort', stop, { once: true });
  if (outer.aborted) stop();
  try {
    const { signal } = controller;
    signal.throwIfAborted();
    return await Promise.race([
      work(signal),
      new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
    ]);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener('abort', stop);
  }
}
