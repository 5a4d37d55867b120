import type { ExecutionResult } from './result.ts';

/** A value that a cell of a context gave back or showed, in every form that it has. */
export interface RichResult {
  /** `result`: the value of the last expression; `display`: shown on the way. */
  readonly type: 'result' | 'display';
  readonly text?: string;
  readonly html?: string;
  readonly json?: unknown;
  readonly markdown?: string;
  readonly latex?: string;
  /** Base64. */
  readonly png?: string;
  /** Base64. */
  readonly jpeg?: string;
  readonly svg?: string;
  /** Further forms by their media type. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** What was left out and why, in whole sentences. */
  readonly notes?: readonly string[];
}

/** An error that a cell did not catch, as its language tells it. */
export interface ContextError {
  readonly name: string;
  readonly value: string;
  /** As it stands at the end of `stderr`; may be empty. */
  readonly traceback: string;
}

/** What a context adds to the result of an execution. */
export interface ContextDetails {
  readonly results: readonly RichResult[];
  /** How many results were left out because there was no room for them. */
  readonly resultsLeftOut: number;
  readonly error?: ContextError;
  /** 1 for the first execution of a context. */
  readonly executionCount: number;
  /** Why there will be no further execution, in a whole sentence; absent while the context lives. */
  readonly ended?: string;
}

/** The result of one execution in a context. */
export interface ContextExecution extends ExecutionResult, ContextDetails {}
