import type { Runtime } from '../runtimes/runtime.ts';

/** What the suite found about one clause. */
export interface ClauseReport {
  readonly id: string;
  /** The promise, as a sentence. */
  readonly promise: string;
  /** `kept`: it holds. `refused`: the runtime does not claim it, and refuses when it is asked for. */
  readonly verdict: 'kept' | 'refused' | 'broken';
  readonly because?: string;
}

export interface VerifyOptions {
  /** Only these clauses, by id. */
  readonly only?: readonly string[];
  /** Called as each clause is decided. */
  readonly onReport?: (report: ClauseReport) => void;
  readonly signal?: AbortSignal;
}

/** Holds a runtime to every clause of the contract, on this machine. */
export async function verifyContract(
  _runtime: Runtime,
  _options: VerifyOptions = {},
): Promise<readonly ClauseReport[]> {
  return [];
}
