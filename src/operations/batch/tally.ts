import type { Outcome } from '../../result/result.ts';
import type { BatchEnd, BatchSummary } from './batch.ts';

/** Counts how programs end. */
export class Tally {
  #programs = 0;
  #ok = 0;
  #errors = 0;
  readonly #outcomes: Record<Outcome, number> = {
    exited: 0,
    timed_out: 0,
    killed: 0,
    out_of_memory: 0,
    cancelled: 0,
    blocked: 0,
    denied: 0,
  };

  count({ result }: BatchEnd): void {
    this.#programs++;
    if (result === undefined) {
      this.#errors++;
      return;
    }
    this.#outcomes[result.outcome]++;
    if (result.ok) this.#ok++;
  }

  /** The counts as they are now. */
  get counts(): Pick<BatchSummary, 'programs' | 'ok' | 'outcomes' | 'errors'> {
    return {
      programs: this.#programs,
      ok: this.#ok,
      outcomes: { ...this.#outcomes },
      errors: this.#errors,
    };
  }
}
