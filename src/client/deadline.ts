import { setTimeout as delay } from 'node:timers/promises';

/** A signal that fires with any of these, or when the time is over; whoever made it disposes of it. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** Whether it was the time. */
  readonly isLate: boolean;
  /** The time does not count any more; the signals still do. */
  stop(): void;
}

/** Listens to no signal any more once it is disposed of, however long those live. */
export function deadline(milliseconds: number, ...signals: readonly (AbortSignal | undefined)[]): Deadline {
  const controller = new AbortController();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    controller.abort();
  }, milliseconds);
  const abort = (): void => controller.abort();
  for (const signal of signals) {
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
  }
  return {
    signal: controller.signal,
    get isLate() {
      return isLate;
    },
    stop: () => clearTimeout(timer),
    [Symbol.dispose]() {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener('abort', abort);
    },
  };
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/** Waits before the next attempt: twice as long each time, and not as long as everybody else who was cut off with us. */
export async function pause(attempt: number, leftMs: number, signal: AbortSignal): Promise<void> {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS);
  const wait = Math.min(longest * (0.5 + Math.random() / 2), Math.max(0, leftMs));
  // Whoever gives up looks at the signal himself.
  await delay(wait, undefined, { signal }).catch(() => {});
}
