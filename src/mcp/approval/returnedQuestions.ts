import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import type { Asker } from './elicitationApprover.ts';

/** A question on its way through the client. */
export interface ReturnedQuestion {
  readonly form: ElicitRequestFormParams;
  answer(result: unknown): void;
}

/**
 * Asks a client of 2026: the call is answered with the question, and called again with the answer. Meanwhile what asked
 * waits here.
 */
export class ReturnedQuestions implements Asker {
  #waiting: ReturnedQuestion | undefined;
  #tellNext: ((question: ReturnedQuestion) => void) | undefined;

  ask(form: ElicitRequestFormParams, signal: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const question: ReturnedQuestion = {
        form,
        answer: (result) => {
          this.#withdraw(question);
          resolve(result);
        },
      };
      const leave = (): void => {
        this.#withdraw(question);
        reject(signal.reason);
      };
      if (signal.aborted) return leave();
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting = question;
      this.#tellNext?.(question);
    });
  }

  /** The question that waits, or the next one. */
  next(): Promise<ReturnedQuestion> {
    if (this.#waiting !== undefined) return Promise.resolve(this.#waiting);
    return new Promise((resolve) => {
      this.#tellNext = resolve;
    });
  }

  /** Undefined where it was answered elsewhere. */
  get waiting(): ReturnedQuestion | undefined {
    return this.#waiting;
  }

  #withdraw(question: ReturnedQuestion): void {
    if (this.#waiting === question) this.#waiting = undefined;
  }
}
