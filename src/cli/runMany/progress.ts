/** How far it is, on standard error. */
import { SingleBar } from 'cli-progress';
import type { BatchSummary } from '../../operations/batch/batch.ts';

/** What is counted while it goes on. */
export type Counts = Pick<BatchSummary, 'programs' | 'ok' | 'outcomes' | 'errors'>;

export interface Progress {
  update(counts: Counts): void;
  /** Says how far it came, and nothing more. */
  stop(): void;
}

/** How often a line is printed where there is no terminal. */
const LINE_EVERY_MS = 10_000;

/** A bar on a terminal, where the number of programs is known; otherwise a line every ten seconds. */
export function showProgress(total: number | undefined, { bar }: { readonly bar: boolean }): Progress {
  return bar && total !== undefined ? showBar(total) : showLines(total);
}

function showBar(total: number): Progress {
  const bar = new SingleBar({
    format: '[{bar}] {value}/{total} | {rate}/s | {counts} | {eta_formatted} left',
    etaBuffer: 100,
    barsize: 24,
  });
  const startedAt = performance.now();
  bar.start(total, 0, { rate: '0', counts: countsInWords({ programs: 0, ok: 0, errors: 0 }, 0) });
  return {
    update(counts) {
      const rate = rateOf(counts.programs, startedAt);
      bar.update(counts.programs, { rate, counts: countsInWords(counts, counts.outcomes.timed_out) });
    },
    stop: () => bar.stop(),
  };
}

function showLines(total: number | undefined): Progress {
  const startedAt = performance.now();
  let latest: Counts | undefined;
  const timer = setInterval(() => {
    if (latest !== undefined) process.stderr.write(`glovebox: ${progressLine(latest, total, startedAt)}\n`);
    latest = undefined;
  }, LINE_EVERY_MS);
  timer.unref();
  return {
    update(counts) {
      latest = counts;
    },
    stop: () => clearInterval(timer),
  };
}

function progressLine(counts: Counts, total: number | undefined, startedAt: number): string {
  const { programs, outcomes } = counts;
  const of = total === undefined ? '' : ` of ${total}`;
  return `${programs}${of} done, ${rateOf(programs, startedAt)}/s: ${countsInWords(counts, outcomes.timed_out)}`;
}

function rateOf(programs: number, startedAt: number): string {
  const seconds = (performance.now() - startedAt) / 1000;
  return (programs / Math.max(seconds, 0.001)).toFixed(1);
}

/** How the programs ended, as people are told. Pure. */
export function countsInWords(
  { programs, ok, errors }: Pick<Counts, 'programs' | 'ok' | 'errors'>,
  timedOut: number,
): string {
  const words = [`${ok} ok`, `${programs - ok - errors - timedOut} failed`, `${timedOut} timed out`];
  return (errors === 0 ? words : [...words, `${errors} could not be run`]).join(', ');
}
