import type { LanguageName } from '../languages/language.ts';
import type { OpenedSandbox, SandboxWish } from './openSandbox.ts';
import type { Spread } from './statistics.ts';

/** One comparison, by a name that stays: figures of different days are found by it. */
export interface Row {
  readonly name: string;
  /** What is done, in a sentence. */
  readonly what: string;
  readonly unit: Unit;
  /** Left out of a usual run, because it takes long or much. */
  readonly onlyFull?: true;
  /** Whatever it throws is told as a row that failed. */
  measure(bench: Bench): Promise<Measured | NotMeasured>;
}

export type Unit = 'ms' | 'executions/s' | 'MB' | 'GB/s per core';

/** What a row needs to measure. */
export interface Bench {
  /** How many pairs of ours and the baseline; a row whose single ones take long makes fewer of them. */
  readonly pairs: number;
  /** The interpreter of this host that sandboxes use too. Rejects with `LANGUAGE_UNAVAILABLE`. */
  interpreter(language: LanguageName): Promise<string>;
  /** A sandbox with the settings of the bench; whoever opens it closes it. */
  open(wish: SandboxWish): Promise<OpenedSandbox>;
  /** Why a runtime cannot be measured here; undefined where it can. */
  whyNot(runtime: string): Promise<NotMeasured | undefined>;
  /** The file of our own command line. */
  readonly program: string;
  /** Measures the row of this name in a process of its own that holds so many MB. */
  inLargeProcess(name: string, heldMb: number): Promise<Measured | NotMeasured>;
  /** A folder of this run, which is gone afterwards. */
  readonly folder: string;
  /** Told how much of the row is done. */
  progress(done: number, total: number): void;
  readonly signal: AbortSignal;
}

/** Figures are in the row's unit. */
export interface Measured {
  readonly status: 'measured';
  readonly ours: Spread;
  readonly baseline?: Spread & { readonly what: string };
  /** Ours to the baseline, median by median; absent without a baseline. */
  readonly ratio?: number;
  /** In how many executions an interpreter waited, which were all, and how it came to wait. */
  readonly warm?: { readonly executions: number; readonly by: readonly string[] };
  /** Other figures, with their units in their names. */
  readonly also?: Readonly<Record<string, number>>;
}

/** A row without figures: what is missing here, that nothing waited, or what went wrong. */
export interface NotMeasured {
  readonly status: 'skipped' | 'not_warm' | 'failed';
  readonly reason: string;
  /** What to do about it. */
  readonly fix?: string;
}
