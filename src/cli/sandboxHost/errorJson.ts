import { type ErrorCode, isSandboxError } from '../../errors.ts';
import { log } from './log.ts';
import type { ErrorJson } from './protocol.ts';

/** An error as it travels. What is not ours is a bug, and its stack is for the log. */
export function errorJson(error: unknown): ErrorJson {
  if (isSandboxError(error)) {
    const { code, message, hint, details } = error;
    return { code, message, hint, details };
  }
  const message = error instanceof Error ? error.message : String(error);
  log(`unexpected: ${error instanceof Error ? error.stack : message}`);
  return {
    code: 'SANDBOX_FAILED',
    message: `Unexpected: ${message}`,
    hint: 'This is a bug of Glovebox: please report it with the command that you ran.',
    details: {},
  };
}

const STATUS: Readonly<Partial<Record<ErrorCode, 400 | 403 | 404 | 410 | 429>>> = {
  INPUT_INVALID: 400,
  CONFIG_INVALID: 400,
  PATH_OUTSIDE_WORKSPACE: 400,
  RUNTIME_UNKNOWN: 400,
  POLICY_DENIED: 403,
  APPROVAL_DENIED: 403,
  FORBIDDEN: 403,
  SANDBOX_NOT_FOUND: 404,
  FILE_NOT_FOUND: 404,
  SANDBOX_CLOSED: 410,
  QUOTA_EXCEEDED: 429,
};

/** The status of an answer that is an error. Pure. */
export function statusOf(code: string): 400 | 403 | 404 | 410 | 429 | 500 {
  return STATUS[code as ErrorCode] ?? 500;
}
