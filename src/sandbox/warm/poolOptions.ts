import { availableParallelism } from 'node:os';
import type { WarmEvent } from './poolState.ts';

/** How large a pool may become, and how long what is not used is kept. */
export interface WarmPoolOptions {
  /** How many guests of one kind are kept ready while it is used; 1 by default. */
  readonly min?: number;
  /** How many of one kind at most; 8 by default. */
  readonly max?: number;
  /** What all that wait may use together, by an estimate for each; 128 MB by default. */
  readonly memoryMb?: number;
  /** After how many seconds without use a kind is given up; 300 by default. */
  readonly idleSec?: number;
  /** After how many seconds a guest is replaced that nobody wanted; 600 by default. */
  readonly maxAgeSec?: number;
  /** How many may be on their way to their end before whoever ends one more waits; 16 by default. */
  readonly maxDying?: number;
  /** How many executions may run at a time, warm or cold; as many again may wait. No limit by default. */
  readonly maxConcurrent?: number;
  /** Told what happens to guests. What it throws is told as a warning of the process. */
  readonly onEvent?: (event: WarmEvent) => void;
}

export const POOL_DEFAULTS = {
  ...{ min: 1, max: 8, memoryMb: 128, idleSec: 300 },
  ...{ maxAgeSec: 600, maxDying: 16, maxConcurrent: Number.POSITIVE_INFINITY },
} as const satisfies WarmPoolOptions;

/** Kinds that are known at a time, whether any guest of them waits or not; the one that was used longest ago is forgotten. */
export const MOST_KINDS = 64;

/** Guests that are being made at a time, over all kinds: making one is waiting for the kernel as much as work. */
export const MADE_AT_ONCE = 2 * availableParallelism();

/** Whoever waits for one that is being made starts cold then: something is wrong with it. */
export const MOST_WAIT_MS = 1000;

/** After so many failures in a row no guest of this kind is asked for any more. */
export const MOST_FAILURES = 5;

/** The pause behind the first failure; behind each further one it is twice as long. */
export const FIRST_PAUSE_MS = 1000;

/** An execution that runs longer than this does not hold up the next guest. */
export const REFILL_WITHIN_MS = 50;
