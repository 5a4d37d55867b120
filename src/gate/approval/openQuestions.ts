import { setMaxListeners } from 'node:events';
import { SandboxError } from '../../errors.ts';
import type { Outcome } from './ask.ts';
import type { Clock } from './clock.ts';
import { pendingError } from './denial.ts';
import type { Question } from './question.ts';

/** How long an answer can be used that came when nobody waited for it any more. */
const USABLE_SEC = 120;

/** So many questions of one asker may be open: more nobody reads. */
const MAX_OPEN = 100;

export interface Asked {
  readonly question: Question;
  /** However asking ended. */
  readonly outcome: Promise<Outcome>;
}

export interface Patience {
  /** Seconds that this caller waits. */
  readonly patienceSec: number;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  /** Who asks, where more than one can. */
  readonly askedBy: string | undefined;
}

interface Open extends Asked {
  readonly withdraw: () => void;
  /** Callers that wait for it. */
  waiting: number;
  /** One yes is for one caller. */
  isTaken: boolean;
}

/**
 * Questions that outlive whoever asked them: a caller that gives up after a while and asks for exactly the same again finds
 * the same question, or its answer.
 */
export class OpenQuestions {
  readonly #open = new Map<string, Open>();

  /**
   * Resolves to how asking about what has this hash ended; `ask` is called where no such question is open. Rejects with
   * `APPROVAL_PENDING` when patience is over, and the question stays; when the signal comes, it is withdrawn, unless another
   * caller waits for it. Rejects with `QUOTA_EXCEEDED` where whoever asks has too many open questions.
   */
  async outcome(
    hash: string,
    ask: (signal: AbortSignal) => Asked,
    { patienceSec, signal, clock, askedBy }: Patience,
  ): Promise<Outcome> {
    const began = clock();
    const until = began + patienceSec * 1000;
    for (;;) {
      const open = this.#open.get(hash) ?? this.#begin(hash, ask, askedBy);
      open.waiting++;
      const ended = await firstOf(open.outcome, until - clock(), signal).finally(() => {
        open.waiting--;
      });
      if (ended === 'impatient') {
        this.#forgetUnused(hash, open);
        throw pendingError(open.question);
      }
      if (ended === 'cancelled') {
        if (open.waiting === 0 && !open.isTaken) this.#forget(hash, open);
        return { ended: 'cancelled', failures: [], seconds: (clock() - began) / 1000 };
      }
      if (open.isTaken) continue;
      open.isTaken = true;
      this.#forget(hash, open);
      return ended;
    }
  }

  #begin(hash: string, ask: (signal: AbortSignal) => Asked, askedBy: string | undefined): Open {
    const others = [...this.#open.values()].filter(({ question }) => question.askedBy === askedBy);
    if (others.length >= MAX_OPEN) throw tooMany(others.length);
    const controller = new AbortController();
    const open: Open = {
      ...ask(controller.signal),
      ...{ withdraw: () => controller.abort(), waiting: 0, isTaken: false },
    };
    this.#open.set(hash, open);
    this.#forgetUnused(hash, open);
    return open;
  }

  /** An outcome that nobody waits for when it comes can be used for a while. */
  #forgetUnused(hash: string, open: Open): void {
    open.outcome.then(
      ({ ended }) => {
        if (open.waiting > 0 || open.isTaken) return;
        if (ended !== 'answered') this.#forget(hash, open);
        else setTimeout(() => this.#forget(hash, open), USABLE_SEC * 1000).unref();
      },
      // Whoever waits is told; the next one asks anew.
      () => this.#forget(hash, open),
    );
  }

  #forget(hash: string, open: Open): void {
    if (this.#open.get(hash) !== open) return;
    this.#open.delete(hash);
    open.withdraw();
  }
}

function tooMany(open: number): SandboxError {
  return new SandboxError('QUOTA_EXCEEDED', `${open} questions wait for a person; no more are asked.`, {
    hint: 'Have them answered first (glovebox approvals), or wait until they expire.',
    details: { open, max: MAX_OPEN },
  });
}

/** Whatever is first: the outcome, the end of the patience, or the signal. */
function firstOf(
  outcome: Promise<Outcome>,
  patienceMs: number,
  signal: AbortSignal | undefined,
): Promise<Outcome | 'impatient' | 'cancelled'> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(() => resolve('impatient')), Math.max(0, patienceMs));
    const cancel = (): void => end(() => resolve('cancelled'));
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      settle();
    };
    outcome.then(
      (value) => end(() => resolve(value)),
      (error: unknown) => end(() => reject(error)),
    );
    if (signal === undefined) return;
    setMaxListeners(0, signal);
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
  });
}
