import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { SandboxError } from '../errors.ts';
import type { ToolAnswer, ToolCallOptions } from '../operations/tools/tool.ts';
import type { OnOutput } from '../result/output.ts';
import type { ElicitationApprover } from './approval/elicitationApprover.ts';
import { pendingQuestion, withWaysToAnswer } from './approval/pending.ts';
import { pushedQuestions } from './approval/pushedQuestions.ts';
import { type ReturnedQuestion, ReturnedQuestions } from './approval/returnedQuestions.ts';
import { progressNotes } from './progress.ts';
import { toolResult } from './toolResult.ts';

/** A call that has begun, and may have to wait for a person. */
interface OpenCall {
  readonly name: string;
  readonly input: unknown;
  readonly answer: Promise<ToolAnswer>;
  readonly questions: ReturnedQuestions;
  readonly controller: AbortController;
  /** Of the request that waits for it at the moment. */
  onOutput: OnOutput | undefined;
}

export interface CallsOptions {
  /** What the caller is called, where somebody is asked for it. */
  readonly caller: string;
  /** Never rejects. */
  readonly call: (name: string, input: unknown, options: ToolCallOptions) => Promise<ToolAnswer>;
  readonly approver: ElicitationApprover;
  /** Where a person finds what waits for an answer, where there is such a place. */
  readonly consoleAddress: () => Promise<string | undefined>;
  /** How many requests may wait for an answer at a time. */
  readonly maxRunning?: number;
  /** How many calls may wait for an answer that comes with another request. */
  readonly maxParked?: number;
}

const MAX_RUNNING = 32;
const MAX_PARKED = 100;

/** How the client of a request can be asked. */
export type Asking = 'within the call' | 'between two calls' | 'not at all';

/** How long the answer of a call is kept that nobody has come back for. */
const KEPT_MS = 10 * 60_000;

/** The calls of one session. A call goes on over several requests where a person has to be asked in between. */
export class Calls {
  readonly #options: CallsOptions;
  readonly #parked = new Map<string, OpenCall>();
  readonly #closing = new AbortController();
  #running = 0;

  constructor(options: CallsOptions) {
    this.#options = options;
    setMaxListeners(0, this.#closing.signal);
  }

  /** Requests that wait for an answer. */
  get running(): number {
    return this.#running;
  }

  /** Answers one request. Nothing is begun again by a request that brings an answer. */
  async handle(
    name: string,
    input: unknown,
    context: ServerContext,
    asking: Asking,
  ): Promise<CallToolResult | InputRequiredResult> {
    const { caller, approver, call, maxRunning = MAX_RUNNING } = this.#options;
    if (this.#running >= maxRunning) return refused(tooMany(maxRunning));
    const notes = progressNotes(context);
    const { signal } = context.mcpReq;
    this.#running++;
    try {
      if (asking === 'between two calls') return await this.#round(name, input, context, notes?.onOutput);
      const asker = asking === 'within the call' ? pushedQuestions(context) : undefined;
      const options = {
        signal: AbortSignal.any([signal, this.#closing.signal]),
        ...(notes === undefined ? {} : { onOutput: notes.onOutput }),
      };
      return await this.#result(approver.during({ name: caller, asker }, () => call(name, input, options)));
    } finally {
      this.#running--;
      notes?.end();
    }
  }

  /** Ends every call. */
  close(): void {
    this.#closing.abort();
    this.#parked.clear();
  }

  async #round(
    name: string,
    input: unknown,
    { mcpReq }: ServerContext,
    onOutput: OnOutput | undefined,
  ): Promise<CallToolResult | InputRequiredResult> {
    const state = mcpReq.requestState<unknown>();
    const open = state === undefined ? this.#begin(name, input) : this.#takeUp(state);
    if (open === undefined) return refused(expired('This question is not open any more.'));
    if (!(open.name === name && isDeepStrictEqual(open.input, input))) {
      // What was approved is what was shown, and this is something else.
      open.controller.abort();
      return refused(expired('This is another call than the one that was asked about.'));
    }
    // What comes with the first request answers nothing: nobody had been asked.
    const waiting = state === undefined ? undefined : open.questions.waiting;
    waiting?.answer(mcpReq.inputResponses?.[INPUT]);
    const next = await untilNext(open, mcpReq.signal, onOutput);
    if ('form' in next) return this.#park(open, next.form);
    if (waiting === undefined || pendingQuestion(next) === undefined) return this.#result(open.answer);
    // The answer came when the call had given up waiting: the same call finds it.
    const again = this.#begin(name, input);
    const last = await untilNext(again, mcpReq.signal, onOutput);
    return 'form' in last ? this.#park(again, last.form) : this.#result(again.answer);
  }

  async #result(answer: Promise<ToolAnswer>): Promise<CallToolResult> {
    const done = await answer;
    const isPending = pendingQuestion(done) !== undefined;
    return toolResult(isPending ? withWaysToAnswer(done, await this.#options.consoleAddress()) : done);
  }

  #begin(name: string, input: unknown): OpenCall {
    const { caller, approver, call } = this.#options;
    const controller = new AbortController();
    const questions = new ReturnedQuestions();
    const options: ToolCallOptions = {
      signal: AbortSignal.any([controller.signal, this.#closing.signal]),
      onOutput: (chunk) => open.onOutput?.(chunk),
    };
    const answer = approver.during({ name: caller, asker: questions }, () => call(name, input, options));
    const open: OpenCall = { name, input, answer, questions, controller, onOutput: undefined };
    return open;
  }

  /** The answers to it are in the request that brings this state back, which nobody else can know. */
  #park(open: OpenCall, form: Parameters<typeof inputRequired.elicit>[0]): InputRequiredResult {
    const { maxParked = MAX_PARKED } = this.#options;
    const [oldest] = this.#parked.keys();
    if (oldest !== undefined && this.#parked.size >= maxParked) this.#takeUp(oldest)?.controller.abort();
    const requestState = randomUUID();
    this.#parked.set(requestState, open);
    const forget = (): void => {
      setTimeout(() => this.#parked.delete(requestState), KEPT_MS).unref();
    };
    open.answer.then(forget, forget);
    return inputRequired({ inputRequests: { [INPUT]: inputRequired.elicit(form) }, requestState });
  }

  #takeUp(state: unknown): OpenCall | undefined {
    if (typeof state !== 'string') return undefined;
    const open = this.#parked.get(state);
    this.#parked.delete(state);
    return open;
  }
}

/** Resolves to the answer, or to the next question on the way there. The signal ends the call. */
async function untilNext(
  open: OpenCall,
  signal: AbortSignal,
  onOutput: OnOutput | undefined,
): Promise<ToolAnswer | ReturnedQuestion> {
  const leave = (): void => open.controller.abort();
  signal.addEventListener('abort', leave, { once: true });
  open.onOutput = onOutput;
  try {
    return await Promise.race([open.answer, open.questions.next()]);
  } finally {
    open.onOutput = undefined;
    signal.removeEventListener('abort', leave);
  }
}

/** What the answer is called in the request that brings it. */
const INPUT = 'approval';

function refused(refusal: SandboxError): CallToolResult {
  const { code, message, hint } = refusal;
  const text = `Error (${code}): ${message} ${hint}`;
  return toolResult({ text, structured: refusal.toJSON(), pictures: [], isError: true });
}

function expired(what: string): SandboxError {
  return new SandboxError('APPROVAL_EXPIRED', `${what} Nothing was done.`, {
    hint: 'Call the tool again, and it is asked again.',
  });
}

function tooMany(max: number): SandboxError {
  return new SandboxError('QUOTA_EXCEEDED', `${max} calls go on, and more may not. Nothing was done.`, {
    hint: 'Wait for one of them to end, or cancel it.',
    details: { max },
  });
}
