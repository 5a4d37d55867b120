import { setMaxListeners } from 'node:events';
import { readAnswer } from './answer.ts';
import type { Clock } from './clock.ts';
import { questionCopy } from './proposal.ts';
import type { Answer, Approver, Question } from './question.ts';

/** How asking ended: only `answered` can be a yes. */
export type Outcome =
  | {
      readonly ended: 'answered';
      readonly answer: Answer;
      /** The approver's name. */
      readonly answeredBy: string;
      readonly seconds: number;
    }
  | {
      readonly ended: 'no_answer' | 'nobody_to_ask' | 'failed' | 'cancelled';
      /** Approvers that could not ask. */
      readonly failures: readonly Failure[];
      /** Whose answer came when the time was up by the clock: this host slept. */
      readonly tooLateBy?: string;
      readonly seconds: number;
    };

export interface Failure {
  readonly approver: string;
  readonly message: string;
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock;
}

/** It ends in records and in what a model reads. */
const MAX_MESSAGE_CHARACTERS = 500;

type Ended =
  | { readonly ended: 'answered'; readonly answer: Answer; readonly answeredBy: string }
  | { readonly ended: Exclude<Outcome['ended'], 'answered'>; readonly tooLateBy?: string };

/** The longest that is waited, as `setTimeout` takes no more: 24 days. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Asks all approvers at once, and resolves with the first answer, or with why there is none; never rejects. Whatever an
 * approver does, it ends when time is up, and then nothing of it is left but what an approver does not let go.
 */
export function askPeople(
  question: Question,
  approvers: readonly Approver[],
  { signal, clock = Date.now }: AskOptions = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const began = clock();
    const expiresAt = Math.min(Date.parse(question.expiresAt), began + question.risk.timeoutSec * 1000);
    const asked = approvers.map((approver) => ({ approver, controller: new AbortController() }));
    const failures: Failure[] = [];
    let timer: NodeJS.Timeout | undefined;
    let isOpen = true;

    const end = (ending: Ended, winner?: AbortController): void => {
      if (!isOpen) return;
      isOpen = false;
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      const seconds = Math.max(0, clock() - began) / 1000;
      resolve(ending.ended === 'answered' ? { ...ending, seconds } : { ...ending, failures, seconds });
      for (const { controller } of asked) if (controller !== winner) controller.abort();
    };
    const cancel = (): void => end({ ended: 'cancelled' });

    if (signal?.aborted) return end({ ended: 'cancelled' });
    if (asked.length === 0) return end({ ended: 'nobody_to_ask' });
    const remainingMs = expiresAt - began;
    // Also where it is no number.
    if (!(remainingMs > 0)) return end({ ended: 'no_answer' });
    timer = setTimeout(() => end({ ended: 'no_answer' }), Math.min(remainingMs, MAX_TIMER_MS));
    if (signal !== undefined) {
      // Any number of questions may end with one signal; Node.js takes more than ten listeners for a leak.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', cancel, { once: true });
    }

    for (const { approver, controller } of asked) {
      if (!isOpen) return;
      const { name } = approver;
      askOne(question, approver, controller.signal).then(
        (answer) => {
          const isLate = !(clock() < expiresAt);
          if (isLate) end({ ended: 'no_answer', tooLateBy: name });
          else end({ ended: 'answered', answer: readAnswer(answer), answeredBy: name }, controller);
        },
        (error: unknown) => {
          if (!isOpen) return;
          failures.push({ approver: name, message: messageOf(error) });
          if (failures.length === asked.length) end({ ended: 'failed' });
        },
      );
    }
  });
}

/** With bytes of its own, which it may change without changing what others see; also where it throws at once. */
async function askOne(question: Question, approver: Approver, signal: AbortSignal): Promise<unknown> {
  return await approver.ask(questionCopy(question), signal);
}

function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error).slice(0, MAX_MESSAGE_CHARACTERS);
  } catch {
    // It has no text: a null object, or one that throws.
    return 'an error without a message';
  }
}
