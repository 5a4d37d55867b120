/**
 * POSTs that may be sent again: what carries an `Idempotency-Key` is done once, however often it comes.
 *
 * A request with a key is not bound to its connection: what it began goes on when whoever asked has gone, since he may
 * come back for the answer. It is ended as everything is that nobody waits for: by DELETE, or by its limits.
 */
import { createHash } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { SandboxError } from '../errors.ts';
import type { KeptAnswers, SentAnswer } from './keptAnswers.ts';
import type { ServerEnv } from './route.ts';

/** See the IETF's draft-ietf-httpapi-idempotency-key-header; here any visible characters are a key, as they are. */
export const IDEMPOTENCY_KEY = 'idempotency-key';

const KEY = /^[\x21-\x7e]{1,255}$/;

/** Refuses a key that is none, and says in the answer that one is known. */
export function keyChecked(): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    const key = context.req.header(IDEMPOTENCY_KEY);
    if (key === undefined) return next();
    if (!KEY.test(key)) throw notAKey();
    await next();
    context.header(IDEMPOTENCY_KEY, key);
  };
}

/**
 * Answers what was asked before with what was answered then. Of a route that takes no body nothing is read: only its
 * address tells one request from another.
 */
export function doneOnce(answers: KeptAnswers, takesBody: boolean): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    const { req } = context;
    const key = req.header(IDEMPOTENCY_KEY);
    const owner = context.get('caller')?.id;
    if (key === undefined || owner === undefined) return next();
    const { pathname, search } = new URL(req.url);
    const body = takesBody ? await req.text() : '';
    const fingerprint = createHash('sha256').update(`${pathname}${search}\n`).update(body).digest('hex');
    const answer = await answers.once({ owner, key, fingerprint }, async () => {
      context.set('signal', new AbortController().signal);
      await next();
      return sentOf(context.res);
    });
    context.res = undefined;
    context.res = responseOf(answer);
  };
}

async function sentOf(response: Response): Promise<SentAnswer> {
  const { status, headers } = response;
  return { status, headers: [...headers], text: await response.text() };
}

function responseOf({ status, headers, text }: SentAnswer): Response {
  const init = { status, headers: headers.map(([name, value]): [string, string] => [name, value]) };
  return new Response(text === '' ? null : text, init);
}

function notAKey(): SandboxError {
  return new SandboxError('INPUT_INVALID', 'The Idempotency-Key is not 1 to 255 visible ASCII characters.', {
    hint: 'Send a UUID, and a new one for each request.',
    details: { in: 'headers', path: IDEMPOTENCY_KEY },
  });
}
