/** What every request to an HTTP surface has to pass before anything looks at what it asks for. */
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { secureHeaders } from 'hono/secure-headers';
import { SandboxError } from '../errors.ts';
import { errorResponse } from './errors.ts';
import { isAllowedHost, isOwnOrigin, type LocalAddress, namesAddress } from './hosts.ts';
import type { ErrorStatus } from './statusOf.ts';

export interface GuardOptions {
  /** Names under which the server may be asked for besides its address: `name`, or `name:port`. */
  readonly allowedHosts?: readonly string[];
  /** Origins whose pages may ask besides the server's own, such as `https://box.example.org`. */
  readonly allowedOrigins?: readonly string[];
}

/** All that needs no key, in the order in which it must stand: `app.use(...guards(options))` before every route. */
export function guards(options: GuardOptions = {}): readonly MiddlewareHandler[] {
  return [securityHeaders(), hostGuard(options), originGuard(options)];
}

/** Refuses with 403 what does not name the address that it came to, or an allowed name: DNS rebinding ends here. */
export function hostGuard({ allowedHosts = [] }: GuardOptions = {}): MiddlewareHandler {
  return async (context, next) => {
    // A request line can name a host as well, and that one would win.
    const asked = [context.req.header('host') ?? '', new URL(context.req.url).host];
    const local = localAddressOf(context);
    const foreign = asked.find((host) => !namesAddress(host, local) && !isAllowedHost(host, allowedHosts));
    if (foreign === undefined) return next();
    return refusal(403, 'FORBIDDEN', `This server is not called ${quote(foreign)}.`, {
      hint: 'Ask for it by the address that it listens on; an operator allows another name with --allow-host.',
    });
  };
}

/** Refuses with 403 what a page of another origin sends: a browser names it, and other clients name none. */
export function originGuard({
  allowedHosts = [],
  allowedOrigins = [],
}: GuardOptions = {}): MiddlewareHandler {
  return async (context, next) => {
    const origin = context.req.header('origin');
    if (origin === undefined || allowedOrigins.includes(origin)) return next();
    if (isOwnOrigin(origin, localAddressOf(context), allowedHosts)) return next();
    return refusal(403, 'FORBIDDEN', `Pages of ${quote(origin)} may not use this server.`, {
      hint: 'Use its own console; an operator allows pages of another origin with --allow-origin.',
    });
  };
}

/**
 * Refuses with 415 a body that is no JSON, where a path is for no other type: what a form of a foreign page can send is none.
 * `otherType` says which type a path takes instead.
 */
export function jsonOnly(
  otherType: (path: string) => string | undefined = () => undefined,
): MiddlewareHandler {
  return async (context, next) => {
    if (!hasBody(context)) return next();
    const expected = otherType(context.req.path) ?? 'application/json';
    const given = context.req.header('content-type') ?? '';
    if (given.split(';')[0]?.trim().toLowerCase() === expected) return next();
    const said = given === '' ? 'The body has no type' : `The body has the type ${quote(given)}`;
    return refusal(415, 'INPUT_INVALID', `${said}, and ${expected} is expected.`, {
      hint: `Send it with the header Content-Type: ${expected}`,
    });
  };
}

/** Refuses with 413 a body above a size; one of unknown length is kept in memory up to there. */
export function limitBody(maxBytes: number): MiddlewareHandler {
  return bodyLimit({
    maxSize: maxBytes,
    onError: () =>
      refusal(413, 'INPUT_INVALID', `The body has more than ${maxBytes} bytes.`, {
        hint: 'Send less at once; carry files of a sandbox one by one.',
        details: { max_bytes: maxBytes },
      }),
  });
}

/** Nothing is cached, framed, guessed or told to other sites; a route that sets such a header itself keeps its own. */
export function securityHeaders(): MiddlewareHandler {
  const set = secureHeaders({
    contentSecurityPolicy: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    xFrameOptions: 'DENY',
    referrerPolicy: 'no-referrer',
    // It is for what encrypts, which stands before us.
    strictTransportSecurity: false,
    overwrite: false,
  });
  return async (context, next) => {
    await set(context, next);
    if (!context.res.headers.has('cache-control')) context.res.headers.set('cache-control', 'no-store');
  };
}

function localAddressOf(context: Context): LocalAddress {
  const { socket } = (context.env as HttpBindings).incoming;
  return { address: socket.localAddress ?? '', port: socket.localPort ?? 0 };
}

function hasBody({ req }: Context): boolean {
  return req.header('transfer-encoding') !== undefined || Number(req.header('content-length') ?? 0) !== 0;
}

function refusal(
  status: ErrorStatus,
  code: 'FORBIDDEN' | 'INPUT_INVALID',
  message: string,
  options: { readonly hint: string; readonly details?: Readonly<Record<string, unknown>> },
): Response {
  return errorResponse(new SandboxError(code, message, options), { status });
}

/** What a stranger sent, short. */
function quote(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
