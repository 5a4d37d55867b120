/** Errors as every HTTP surface answers them. */
import type { ErrorHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { isSandboxError, SandboxError } from '../errors.ts';
import { type ErrorStatus, statusOf } from './statusOf.ts';

export interface ErrorResponseOptions {
  /** Another status than the code of the error has. */
  readonly status?: ErrorStatus;
  /** Told of what is no error of ours, which is a bug: its message and its stack are for the log alone. */
  readonly onUnexpected?: (error: unknown) => void;
}

/**
 * The answer that an error is: `{ "error": { code, message, hint, details } }` with its status, and with `Retry-After` where
 * its details say `retry_after_sec`. Of an unexpected error nothing is told but that there was one.
 */
export function errorResponse(
  error: unknown,
  { status, onUnexpected = () => {} }: ErrorResponseOptions = {},
): Response {
  const known = toSandboxError(error);
  if (known === undefined) onUnexpected(error);
  const { code, message, hint, details } = known ?? UNEXPECTED;
  const answered = status ?? (error instanceof HTTPException ? error.status : statusOf(code));
  return new Response(JSON.stringify({ error: { code, message, hint, details } }), {
    status: answered,
    headers: { 'content-type': 'application/json', ...headersOf(answered, details) },
  });
}

/** For `app.onError`. What is thrown because the client has gone away is no bug, and nobody is told of it. */
export function errorHandler(onUnexpected: (error: unknown) => void): ErrorHandler {
  return (error, { req }) => errorResponse(error, req.raw.signal.aborted ? {} : { onUnexpected });
}

/** The answer to a request that no route is for: for `app.notFound`. */
export function noSuchRoute(): Response {
  const error = new SandboxError('INPUT_INVALID', 'There is nothing at this path for this method.', {
    hint: 'See which paths there are: GET /openapi.json',
  });
  return errorResponse(error, { status: 404 });
}

const UNEXPECTED = new SandboxError('SANDBOX_FAILED', 'Something unexpected happened in the server.', {
  hint: 'This is a bug of Glovebox: whoever runs the server finds more in its log.',
});

/** Undefined for what nobody threw on purpose. */
function toSandboxError(error: unknown): SandboxError | undefined {
  if (isSandboxError(error)) return error;
  if (!(error instanceof HTTPException) || error.status >= 500) return undefined;
  return new SandboxError('INPUT_INVALID', error.message || 'The request is not usable.', {
    hint: 'Correct the request; GET /openapi.json describes what is expected.',
  });
}

function headersOf(status: number, { retry_after_sec: wait }: Readonly<Record<string, unknown>>) {
  return {
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(typeof wait === 'number' && wait >= 0 ? { 'retry-after': String(Math.ceil(wait)) } : {}),
  };
}
