import type { LanguageName } from '../../languages/language.ts';
import type { WarmedBy } from '../../runtimes/runtime.ts';

/** Which guests are meant. */
export interface WarmName {
  readonly runtime: string;
  readonly language: LanguageName;
}

/** What happened to a guest, or to the wish for one. */
export type WarmEvent = WarmName &
  (
    | { readonly type: 'filled'; readonly warmedBy: WarmedBy; readonly idle: number }
    | { readonly type: 'taken'; readonly warmedBy: WarmedBy; readonly idle: number }
    /** None was ready: the execution waits for one that is being made, or starts cold. */
    | { readonly type: 'missed' }
    /** One that nobody has used is ended. */
    | { readonly type: 'discarded'; readonly because: Discard }
    /** One could not be made, or was of no use. */
    | { readonly type: 'failed'; readonly message: string }
    /** No more guests of this kind are made. */
    | { readonly type: 'stopped'; readonly because: string }
  );

/** Why a guest was ended that nobody had used. */
export type Discard = 'age' | 'idle' | 'surplus' | 'memory' | 'lost' | 'stopped' | 'closed';

/** The figures of one kind. */
export interface WarmKindState extends WarmName {
  readonly preload: readonly string[];
  /** Absent until one was made. */
  readonly warmedBy?: WarmedBy;
  /** How many shall be ready. */
  readonly target: number;
  readonly idle: number;
  readonly inUse: number;
  /** Handed out, ever. */
  readonly taken: number;
  /** How often none was ready, ever. */
  readonly missed: number;
  readonly made: number;
  readonly failed: number;
  /** Why no more are made, in a sentence. */
  readonly stopped?: string;
}

/** What was counted since the pool was made, over all kinds that go by the same name. */
export interface WarmTotals extends WarmName {
  readonly taken: number;
  readonly missed: number;
  readonly made: number;
  readonly failed: number;
}

/** The figures of a pool. */
export interface WarmPoolState {
  /** Those that were used lately. */
  readonly kinds: readonly WarmKindState[];
  readonly totals: readonly WarmTotals[];
  readonly idle: number;
  readonly inUse: number;
  readonly dying: number;
  /** Executions that run, warm or cold, and those that wait for a place. */
  readonly running: number;
  readonly waiting: number;
  /** What those that wait, and those that are being made, are estimated to use. */
  readonly estimatedMb: number;
}
