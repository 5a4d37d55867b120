import type { SandboxError } from '../../errors.ts';
import type { ExecutionResult, Outcome } from '../../result/result.ts';
import type { ExecuteOptions } from '../options.ts';

/** One of many programs: the code and what `execute` takes besides. */
export interface BatchProgram extends ExecuteOptions {
  /** What it is called in its entry; its place in the input, from 0 on, otherwise. */
  readonly id?: string;
  readonly code: string | Uint8Array;
}

/** What became of one program. */
export type BatchEntry<Program = BatchProgram> = {
  readonly id: string;
  /** Its place in the input, from 0 on. */
  readonly index: number;
  /** As it was given. */
  readonly program: Program;
} & BatchEnd;

export type BatchEnd =
  | { readonly result: ExecutionResult; readonly error?: never }
  /** It could not be run: its input cannot be used, or the isolation failed. */
  | { readonly error: SandboxError; readonly result?: never };

export interface BatchOptions<Program = BatchProgram> {
  /** How many run at a time; as many as there are processors by default. */
  readonly concurrency?: number;
  /**
   * Told of each program as soon as it has ended, one at a time. A returned promise is waited for: until then the next
   * one is not told, and once all that run have ended, nothing more is begun. What it throws ends the batch.
   */
  readonly onResult?: (entry: BatchEntry<Program>) => void | Promise<void>;
  /** Ends the batch: no more programs are begun, and those that run are cancelled and told. */
  readonly signal?: AbortSignal;
}

/** How a batch went. */
export interface BatchSummary {
  /** How many were told. */
  readonly programs: number;
  /** How many of them exited with 0. */
  readonly ok: number;
  /** How many ended how; those that could not be run are not among them. */
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** How many could not be run. */
  readonly errors: number;
  /** Whether the signal ended it. */
  readonly cancelled: boolean;
  /** Seconds. */
  readonly duration: number;
}
