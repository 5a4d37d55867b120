/** Asking a server: one request, its answer, and another attempt where that can do no harm. */
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { packageVersion } from '../version.ts';
import type { Server } from './address.ts';
import { bytesOf, jsonOrUndefined, parseAnswer } from './answer.ts';
import { deadline, pause } from './deadline.ts';
import { errorFromJson, errorOfStatus, phraseOf, ServerError, unreachable } from './errors.ts';

export interface Question {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/v1/`, with its names already escaped. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly json?: unknown;
  readonly body?: { readonly type: string; readonly content: Uint8Array | AsyncIterable<Uint8Array> };
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether it is asked again after a cut; what only reads is. A POST carries a key then, by which a server that knows
   * such keys does it once; with any other it is not asked again once it was sent.
   */
  readonly retry?: boolean;
  /** For how long it is waited for, where that is not as long as for any. */
  readonly timeoutSec?: number;
}

export interface TransportOptions {
  /** For how long a server that was there is waited for. */
  readonly reconnectSec: number;
  /** For how long a single answer is waited for. */
  readonly requestTimeoutSec: number;
}

/** By what a server knows a POST again. It is in its answers, too, where it does. */
const KEY_HEADER = 'idempotency-key';

/** For what was cancelled to say how it ended. */
const LAST_WORDS_MS = 5000;

export class Transport {
  readonly reconnectMs: number;
  readonly #server: Server;
  readonly #timeoutMs: number;
  readonly #ending = new AbortController();
  readonly #closed = new AbortController();
  readonly #goingOn = new Set<Promise<unknown>>();
  #wasReached = false;
  /** Whether it said that it does a POST once, however often it comes. */
  #knowsKeys = false;

  constructor(server: Server, { reconnectSec, requestTimeoutSec }: TransportOptions) {
    this.#server = server;
    this.reconnectMs = reconnectSec * 1000;
    this.#timeoutMs = requestTimeoutSec * 1000;
    // Whatever is asked, and whatever goes on, listens.
    setMaxListeners(0, this.#ending.signal, this.#closed.signal);
  }

  get host(): string {
    return this.#server.base.host;
  }

  /** Aborted once nothing is asked any more. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Aborted when this ends: what was begun on the server is cancelled there. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Waits for this, for a moment, before it breaks off what is asked. */
  track<Result>(work: Promise<Result>): Promise<Result> {
    this.#goingOn.add(work);
    const over = (): void => void this.#goingOn.delete(work);
    work.then(over, over);
    return work;
  }

  /** Cancels what goes on, hears what comes of that, and then breaks off whatever is asked still. */
  async end(): Promise<void> {
    this.#ending.abort();
    using limit = deadline(LAST_WORDS_MS);
    const late = new Promise<void>((resolve) => {
      limit.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([Promise.allSettled(this.#goingOn), late]);
    this.close();
  }

  /** Breaks off whatever is asked. */
  close(): void {
    this.#closed.abort();
  }

  /** An answer that is JSON of this form. */
  json<Answer>(question: Question, schema: z.ZodType<Answer>): Promise<Answer> {
    return this.#whole(question, async (answer) =>
      parseAnswer(schema, jsonOrUndefined(await bytesOf(answer)), nameOf(question)),
    );
  }

  /** An answer of which nothing matters but that it is no error. */
  tell(question: Question): Promise<void> {
    return this.#whole(question, async (answer) => {
      await answer.body?.cancel();
    });
  }

  /** An answer as bytes. */
  bytes(question: Question): Promise<Uint8Array> {
    return this.#whole(question, bytesOf);
  }

  /** An answer whose body comes for as long as it may, until its control is aborted. Only its beginning has to come in time. */
  async open(question: Question, control: AbortController): Promise<Response> {
    this.#assertOpen();
    using limit = deadline(this.#timeoutMs, this.#closed.signal, question.signal);
    const abort = (): void => control.abort();
    limit.signal.addEventListener('abort', abort, { once: true });
    try {
      return await this.#ask(question, control.signal);
    } catch (error) {
      throw this.#failure(error, question, limit.isLate);
    } finally {
      limit.signal.removeEventListener('abort', abort);
    }
  }

  async #whole<Result>(question: Question, read: (answer: Response) => Promise<Result>): Promise<Result> {
    const { method = 'GET', retry = method === 'GET' } = question;
    const key = retry && method === 'POST' ? { [KEY_HEADER]: randomUUID() } : {};
    const keyed = { ...question, headers: { ...key, ...question.headers } };
    const timeoutMs = question.timeoutSec === undefined ? this.#timeoutMs : question.timeoutSec * 1000;
    const since = performance.now();
    for (let attempt = 0; ; attempt++) {
      this.#assertOpen();
      using limit = deadline(timeoutMs, this.#closed.signal, question.signal);
      try {
        return await read(await this.#ask(keyed, limit.signal));
      } catch (error) {
        const failure = this.#failure(error, question, limit.isLate);
        const leftMs = since + this.reconnectMs - performance.now();
        if (!retry || !this.#wasReached || !isCut(failure) || leftMs <= 0) throw failure;
        if (method === 'POST' && !this.#knowsKeys && !(failure instanceof Cut && failure.wasUnsent))
          throw failure;
        limit.stop();
        await pause(attempt, leftMs, limit.signal);
        if (question.signal?.aborted) throw failure;
      }
    }
  }

  async #ask(question: Question, signal: AbortSignal): Promise<Response> {
    const { method = 'GET', path, query = {}, json, body, headers } = question;
    const { base, apiKey } = this.#server;
    const url = new URL(`v1/${path}`, base);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const type = json === undefined ? body?.type : 'application/json';
    const content = json === undefined ? body?.content : JSON.stringify(json);
    const answer = await fetch(url, {
      method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${apiKey}`,
        'user-agent': `glovebox/${packageVersion()}`,
        ...(type === undefined ? {} : { 'content-type': type }),
        ...headers,
      },
      // The key is for this server alone.
      redirect: 'manual',
      signal,
      ...(content === undefined ? {} : { body: content, duplex: 'half' }),
    });
    this.#wasReached = true;
    if (answer.headers.has(KEY_HEADER)) this.#knowsKeys = true;
    if (!answer.ok) throw await refusalOf(answer, apiKey);
    return answer;
  }

  /** What is told of it: what `fetch` throws is made one of ours. */
  #failure(error: unknown, { signal }: Question, isLate: boolean): unknown {
    if (this.#closed.signal.aborted) return clientClosed();
    if (signal?.aborted) return signal.reason;
    if (error instanceof SandboxError) return error;
    return new Cut(this.host, isLate ? 'it did not answer in time' : phraseOf(error), error);
  }

  #assertOpen(): void {
    if (this.#closed.signal.aborted) throw clientClosed();
  }
}

/** A connection that came to nothing, or broke. */
class Cut extends SandboxError {
  /** Nobody can have got it. */
  readonly wasUnsent: boolean;

  constructor(host: string, why: string, cause: unknown) {
    const { code, message, hint, details } = unreachable(host, why);
    super(code, message, { hint, details, cause });
    this.wasUnsent = codeOf(cause) === 'ECONNREFUSED';
  }
}

function codeOf(error: unknown): unknown {
  return (error as { cause?: { code?: unknown } }).cause?.code;
}

/** Whether the same may well succeed in a moment. */
export function isCut(error: unknown): boolean {
  return error instanceof Cut || (error instanceof ServerError && error.isCut);
}

async function refusalOf(answer: Response, apiKey: string): Promise<ServerError> {
  const { status } = answer;
  // What broke off on the way tells nothing, and the status does.
  const text = (await bytesOf(answer).catch(() => Buffer.alloc(0))).toString();
  // Whatever stands in front of a server may repeat what was sent there.
  const body = jsonOrUndefined(text.replaceAll(apiKey, '(the key)'));
  const after = answer.headers.get('retry-after') ?? '';
  const retryAfterSec = /^\d{1,6}$/.test(after) ? Number(after) : undefined;
  return errorFromJson(body, { status, retryAfterSec }) ?? errorOfStatus(status);
}

function nameOf({ method = 'GET', path }: Question): string {
  return `${method} /v1/${path}`;
}

/** What every call throws then. */
export function clientClosed(): SandboxError {
  return new SandboxError('SANDBOX_CLOSED', 'The manager has been closed, and its sandboxes with it.', {
    hint: 'Connect again.',
    details: { reason: 'manager_closed' },
  });
}
