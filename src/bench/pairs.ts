import { type Spread, spreadOf } from './statistics.ts';

/** One thing to time. */
export type Subject = () => Promise<unknown>;

export interface Pairing {
  readonly pairs: number;
  readonly ours: Subject;
  readonly baseline: Subject;
  /** Before each of both, and not timed: until the last one's traces are gone and what is needed is there again. */
  readonly ready?: Subject;
  readonly progress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
}

/** Figures of both, pair by pair. */
export interface Pairs {
  readonly ours: readonly number[];
  readonly baseline: readonly number[];
}

/**
 * Times both in turn, pair after pair, so that drift of the machine hits them alike, and the other one first in every
 * second pair, so that neither follows the other more often. One pair before is not counted. In milliseconds.
 * Rejects with the signal's reason between two pairs.
 */
export async function timePairs({
  pairs,
  ready = async () => {},
  progress = () => {},
  signal,
  ...subjects
}: Pairing): Promise<Pairs> {
  const times = { ours: [] as number[], baseline: [] as number[] };
  const order = ['ours', 'baseline'] as const;
  for (let pair = -1; pair < pairs; pair++) {
    signal?.throwIfAborted();
    for (const name of pair % 2 === 0 ? order : order.toReversed()) {
      await ready();
      const milliseconds = await timed(subjects[name]);
      if (pair >= 0) times[name].push(milliseconds);
    }
    if (pair >= 0) progress(pair + 1, pairs);
  }
  return times;
}

async function timed(subject: Subject): Promise<number> {
  const start = performance.now();
  await subject();
  return performance.now() - start;
}

/** What figures of two say about one of them. */
export interface Comparison {
  readonly ours: Spread;
  readonly baseline: Spread;
  /** Ours to the baseline, median by median. */
  readonly ratio: number;
}

export function compare(pairs: Pairs): Comparison {
  const ours = spreadOf(pairs.ours);
  const baseline = spreadOf(pairs.baseline);
  return { ours, baseline, ratio: ours.p50 / baseline.p50 };
}
