import type { Verdict } from '../operations/auditTrail.ts';
import type { Verified } from './pages/audit.ts';

/** Checking a long log takes a while, and people turn pages. */
const FRESH_MS = 2000;

/** Whether the log is whole, checked by one at a time and not for every page. */
export class Verification {
  readonly #verify: () => Promise<Verdict>;
  readonly #now: () => number;
  #last: { readonly verified: Promise<Verified>; readonly startedAt: number } | undefined;

  constructor(verify: () => Promise<Verdict>, now: () => number) {
    this.#verify = verify;
    this.#now = now;
  }

  /** A verdict that is a few seconds old at most, and says when it was. */
  current(): Promise<Verified> {
    const startedAt = this.#now();
    if (this.#last !== undefined && startedAt < this.#last.startedAt + FRESH_MS) return this.#last.verified;
    const verified = this.#verify().then((verdict) => ({ verdict, at: new Date(startedAt).toISOString() }));
    this.#last = { verified, startedAt };
    verified.catch(() => {
      this.#last = undefined;
    });
    return verified;
  }
}
