import { AsyncLocalStorage } from 'node:async_hooks';
import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import type { Answer, Question } from '../../operations/approvals.ts';
import { answerOf, approvalForm } from './form.ts';

/** A way to the person at the client of one call. */
export interface Asker {
  /** Resolves to what the client sent, whatever that is; rejects where it could not ask, and when the signal comes. */
  ask(form: ElicitRequestFormParams, signal: AbortSignal): Promise<unknown>;
}

/** Asks the person at the client whose call needs the answer, in a window of that client. */
export class ElicitationApprover {
  readonly name = 'elicitation';
  readonly #askers = new AsyncLocalStorage<Asker | undefined>();

  /** What is asked while the work goes on is asked there; nowhere without an asker. */
  during<Result>(asker: Asker | undefined, work: () => Promise<Result>): Promise<Result> {
    return this.#askers.run(asker, work);
  }

  /** The answer is to this question, which nobody can change any more. Rejects where the client cannot show all of it. */
  async ask(question: Question, signal: AbortSignal): Promise<Answer> {
    const asker = this.#askers.getStore();
    if (asker === undefined) throw new Error('the client cannot ask anybody');
    const form = approvalForm(question);
    if (form === undefined) throw new Error('the question is too long for a window of the client');
    return answerOf(await asker.ask(form, signal));
  }
}
