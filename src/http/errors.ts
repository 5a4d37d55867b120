import { HTTPException } from 'hono/http-exception';
import { type ErrorCode, isSandboxError, SandboxError, type SandboxErrorOptions } from '../errors.ts';
import { errorResponse } from '../web/errors.ts';
import type { ErrorStatus } from '../web/statusOf.ts';

/** An error that is answered with another status than its code has: the address names nothing, for example. */
export function problem(
  status: ErrorStatus,
  code: ErrorCode,
  message: string,
  options: SandboxErrorOptions,
): HTTPException {
  return new HTTPException(status as 404, { cause: new SandboxError(code, message, options) });
}

/** Nothing of this kind is there for whoever asks. */
export function notFound(what: string, id: string): HTTPException {
  return problem(404, 'INPUT_INVALID', `There is no ${what} ${JSON.stringify(id.slice(0, 100))}.`, {
    hint: 'It may be gone by now, or belong to another key.',
    details: { id: id.slice(0, 100) },
  });
}

/** No work is begun any more. */
export function draining(): HTTPException {
  return problem(503, 'RUNTIME_UNAVAILABLE', 'The server is ending and begins nothing new.', {
    hint: 'Ask again in a moment: another one may take its place.',
    details: { retry_after_sec: 5 },
  });
}

/** The answer to whatever was thrown; what is not ours is a bug, and `onBug` is told of it. */
export function answerTo(error: unknown, onBug: (error: unknown) => void): Response {
  const known = knownIn(error);
  const status = error instanceof HTTPException ? (error.status as ErrorStatus) : undefined;
  const response = errorResponse(known ?? error, {
    ...(status === undefined ? {} : { status }),
    onUnexpected: onBug,
  });
  const isLater = response.status === 429 || response.status === 503;
  if (isLater && !response.headers.has('retry-after')) response.headers.set('retry-after', RETRY_AFTER_SEC);
  return response;
}

/** After so many seconds whoever was turned away may ask again, where nobody knows better. */
const RETRY_AFTER_SEC = '5';

/** The same as JSON, for what was thrown where nobody waited. */
export function errorJson(error: unknown): Readonly<Record<string, unknown>> {
  return (knownIn(error) ?? unexpectedError()).toJSON().error;
}

/** What is told of a bug: nothing but that there was one. */
export function unexpectedError(): SandboxError {
  return new SandboxError('SANDBOX_FAILED', 'Something unexpected happened in the server.', {
    hint: 'This is a bug of Glovebox: whoever runs the server finds more in its log.',
  });
}

/** What was thrown on purpose; undefined for a bug. */
export function knownIn(error: unknown): SandboxError | undefined {
  if (isSandboxError(error)) return error;
  return error instanceof HTTPException && isSandboxError(error.cause) ? error.cause : undefined;
}
