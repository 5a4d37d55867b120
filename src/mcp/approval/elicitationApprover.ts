import { AsyncLocalStorage } from 'node:async_hooks';
import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import type { Answer, Question } from '../../operations/approvals.ts';
import { answerOf, approvalForm } from './form.ts';

/** A way to the person at the client of one call. */
export interface Asker {
  /** Resolves to what the client sent, whatever that is; rejects where it could not ask, and when the signal comes. */
  ask(form: ElicitRequestFormParams, signal: AbortSignal): Promise<unknown>;
}

/** For whom something is done at the moment. */
interface Caller {
  /** The session, by a name that is recorded and shown. */
  readonly name: string;
  /** Absent where its client cannot ask anybody. */
  readonly asker: Asker | undefined;
}

/** Asks the person at the client whose call needs the answer, in a window of that client. */
export class ElicitationApprover {
  readonly name = 'elicitation';
  readonly #callers = new AsyncLocalStorage<Caller>();

  /** What is asked while the work goes on is asked for this caller. */
  during<Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> {
    return this.#callers.run(caller, work);
  }

  /** The name of the caller for whom something is done at the moment. */
  readonly askedBy = (): string | undefined => this.#callers.getStore()?.name;

  /** The answer is to this question, which nobody can change any more. Rejects where the client cannot show all of it. */
  async ask(question: Question, signal: AbortSignal): Promise<Answer> {
    const asker = this.#callers.getStore()?.asker;
    if (asker === undefined) throw new Error('the client cannot ask anybody');
    const form = approvalForm(question);
    if (form === undefined) throw new Error('the question is too long for a window of the client');
    return answerOf(await asker.ask(form, signal));
  }
}
