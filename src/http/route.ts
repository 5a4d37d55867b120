/** How a route is declared: once, for whoever reads the document and for whoever asks. */
import type { HttpBindings } from '@hono/node-server';
import { createRoute, type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { SandboxError } from '../errors.ts';
import type { Scope } from '../keys/key.ts';
import { bearerOf } from '../web/bearer.ts';
import { limitBody } from '../web/guard.ts';
import { draining, problem } from './errors.ts';
import { doneOnce, IDEMPOTENCY_KEY, keyChecked } from './idempotency.ts';
import { allowed, type Caller } from './keys.ts';
import type { Asking, Parts } from './parts.ts';
import { errorResult } from './schemas/results.ts';

export interface ServerEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    caller?: Caller;
    /** In the place of the one that comes when whoever asks has gone. */
    signal?: AbortSignal;
    /** Settles when nothing needs any more what was sent; never rejects. */
    inUse?: Promise<void>;
  };
}

export type ServerApp = OpenAPIHono<ServerEnv>;

/** A response as it is told: JSON by its schema, or bytes of a media type, or nothing. */
type ResponseWish =
  | { readonly description: string; readonly schema: z.ZodType }
  | { readonly description: string; readonly media: string }
  | { readonly description: string };

export interface RouteWish<Params, Query, Body> {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  /** Who may ask; everybody where it is absent. */
  readonly scope?: Scope;
  readonly params?: z.ZodType<Params>;
  readonly query?: z.ZodType<Query>;
  readonly headers?: z.ZodType;
  /** A body of JSON. */
  readonly body?: z.ZodType<Body>;
  /** A body of bytes, by its media type. */
  readonly bytes?: string;
  /** It begins something: refused while the server ends. */
  readonly begins?: boolean;
  readonly responses: Readonly<Record<number, ResponseWish>>;
}

export interface Asked<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** Nobody where the route has no scope. */
  readonly caller: Caller;
  /** Comes when whoever asks has gone, and never where he may come back for the answer. */
  readonly signal: AbortSignal;
  readonly context: Context<ServerEnv>;
}

/** Adds a route. What is wrong with a request is said before the handler sees it. */
export function addRoute<Params = undefined, Query = undefined, Body = undefined>(
  app: ServerApp,
  parts: Parts,
  wish: RouteWish<Params, Query, Body>,
  handle: (asked: Asked<Params, Query, Body>) => Promise<Response> | Response,
): void {
  const route = createRoute({ ...configOf(wish), middleware: middlewareOf(parts, wish) });
  const handler = (context: Context<ServerEnv>): Promise<Response> | Response => {
    const valid = (target: string): unknown => context.req.valid(target as never);
    const caller = context.get('caller') ?? NOBODY;
    const asking: Asking = {
      caller: caller.id,
      onStarted: (settled) => context.set('inUse', settled),
    };
    const asked = {
      params: (wish.params && valid('param')) as Params,
      query: (wish.query && valid('query')) as Query,
      body: (wish.body && valid('json')) as Body,
      ...{ caller, signal: context.get('signal') ?? context.req.raw.signal, context },
    };
    return parts.asking.run(asking, () => handle(asked));
  };
  app.openapi(route, handler as never);
}

const NOBODY: Caller = { id: '', name: '', scopes: [], quotas: {} };

function middlewareOf<Params, Query, Body>(
  parts: Parts,
  wish: RouteWish<Params, Query, Body>,
): MiddlewareHandler<ServerEnv>[] {
  const { scope, begins = false, body, bytes, responses } = wish;
  const check: MiddlewareHandler<ServerEnv> = async (context, next) => {
    if (scope !== undefined) {
      context.set(
        'caller',
        allowed(parts.keys.authenticate, bearerOf(context.req.header('authorization')), scope),
      );
    }
    await next();
  };
  const assertBegins: MiddlewareHandler<ServerEnv> = async (_, next) => {
    if (begins && parts.life.isDraining) throw draining();
    await next();
  };
  const { bodies, limits, answers, streams } = parts;
  const isStreamed = Object.values(responses).some((told) => 'media' in told);
  const held = isStreamed
    ? [streams.follow()]
    : body !== undefined
      ? [bodies.hold(limits.bodyBytes), limitBody(limits.bodyBytes)]
      : bytes !== undefined
        ? [bodies.hold(limits.fileBytes)]
        : [];
  // What was done is told while the server ends, too.
  if (!mayComeAgain(wish)) return [check, assertBegins, ...held];
  return [check, keyChecked(), ...held, doneOnce(answers, body !== undefined), assertBegins];
}

/** Whether it is known again by a key: all that changes something for whoever runs code, and would do it twice. */
function mayComeAgain<Params, Query, Body>({ method, scope }: RouteWish<Params, Query, Body>): boolean {
  return method === 'post' && scope === 'execute';
}

const keyHeader = z.object({
  [IDEMPOTENCY_KEY]: z.string().min(1).max(255).optional().openapi({
    description:
      'Any visible ASCII characters, such as a UUID: what comes again with it within 10 minutes gets the same answer and begins nothing, and what it began goes on when its connection is cut.',
  }),
});

function configOf<Params, Query, Body>(wish: RouteWish<Params, Query, Body>): RouteConfig & { path: string } {
  const { method, path, summary, tag, scope, params, query, body, bytes } = wish;
  const headers = mayComeAgain(wish) ? keyHeader : wish.headers;
  const content =
    body !== undefined
      ? { 'application/json': { schema: body } }
      : bytes !== undefined
        ? { [bytes]: { schema: { type: 'string' as const, format: 'binary' } } }
        : undefined;
  return {
    ...{ method, path, summary, tags: [tag], operationId: operationIdOf(method, path) },
    ...(scope === undefined ? {} : { security: [{ key: [scope] }] }),
    request: {
      ...(params === undefined ? {} : { params: params as never }),
      ...(query === undefined ? {} : { query: query as never }),
      ...(headers === undefined ? {} : { headers: headers as never }),
      ...(content === undefined ? {} : { body: { required: true, content } }),
    },
    responses: {
      ...Object.fromEntries(
        Object.entries(wish.responses).map(([status, told]) => [status, responseOf(told)]),
      ),
      default: { description: 'An error.', content: { 'application/json': { schema: errorResult } } },
    },
  };
}

function responseOf(told: ResponseWish): {
  description: string;
  content?: Record<string, { schema: object }>;
} {
  const { description } = told;
  if ('schema' in told) return { description, content: { 'application/json': { schema: told.schema } } };
  if ('media' in told) {
    return { description, content: { [told.media]: { schema: { type: 'string', format: 'binary' } } } };
  }
  return { description };
}

function operationIdOf(method: string, path: string): string {
  const words = path
    .replace(/^\/(v1\/)?/, '')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '');
  return [method, ...words.map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)].join('');
}

/** Told where a request does not fit its schema. Throws `INPUT_INVALID`, and never shows a value: it may be a secret. */
export function refuseInvalid(result: {
  readonly success: boolean;
  readonly target: string;
  error?: z.ZodError;
}): void {
  if (result.success || result.error === undefined) return;
  const [issue] = result.error.issues;
  const where = PLACES[result.target] ?? result.target;
  const path = short(issue?.path.map(String).join('.') ?? '');
  const what = path === '' ? `The ${where}` : `"${path}" in the ${where}`;
  throw new SandboxError('INPUT_INVALID', `${what}: ${short(issue?.message ?? 'it is not usable')}.`, {
    hint: 'See /openapi.json for what can be sent.',
    details: { in: where, path },
  });
}

/** Names of members are a stranger's text as well. */
function short(text: string): string {
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}

const PLACES: Readonly<Record<string, string>> = {
  json: 'body',
  query: 'query',
  param: 'path',
  header: 'headers',
};

/** An answer whose JSON is there already as text. */
export function jsonText(text: string, status = 200): Response {
  return new Response(text, { status, headers: { 'content-type': 'application/json' } });
}

export function json(value: unknown, status = 200): Response {
  return jsonText(JSON.stringify(value), status);
}

export function noContent(): Response {
  return new Response(null, { status: 204 });
}

/** Reads a body of bytes up to a size. Throws what is answered with 413. */
export async function bytesOf(request: Request, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of counted(request, maxBytes)) {
    size += chunk.length;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** A body of bytes as it comes. Throws what is answered with 413 where it is more than that. */
export async function* counted(request: Request, maxBytes: number): AsyncGenerator<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes);
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

function tooLarge(maxBytes: number): Error {
  return problem(413, 'INPUT_INVALID', `The body has more than ${maxBytes} bytes.`, {
    hint: 'Send less at once.',
    details: { max_bytes: maxBytes },
  });
}
