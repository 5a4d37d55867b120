import type { ErrorCode } from '../errors.ts';

export type ErrorStatus = 400 | 401 | 403 | 404 | 405 | 408 | 409 | 410 | 413 | 415 | 422 | 429 | 500 | 503;

const STATUS: Readonly<Partial<Record<ErrorCode, ErrorStatus>>> = {
  INPUT_INVALID: 400,
  CONFIG_INVALID: 400,
  PATH_OUTSIDE_WORKSPACE: 400,
  RUNTIME_UNKNOWN: 400,
  LANGUAGE_UNAVAILABLE: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  POLICY_DENIED: 403,
  APPROVAL_DENIED: 403,
  SANDBOX_NOT_FOUND: 404,
  FILE_NOT_FOUND: 404,
  APPROVAL_PENDING: 409,
  WORKSPACE_CHANGED: 409,
  SANDBOX_CLOSED: 410,
  APPROVAL_EXPIRED: 410,
  POLICY_NOT_ENFORCEABLE: 422,
  QUOTA_EXCEEDED: 429,
  RUNTIME_UNAVAILABLE: 503,
  AUDIT_UNAVAILABLE: 503,
  POOL_EXHAUSTED: 503,
};

/** The HTTP status of an answer that is an error of this code. Pure. */
export function statusOf(code: string): ErrorStatus {
  return Object.hasOwn(STATUS, code) ? (STATUS[code as ErrorCode] ?? 500) : 500;
}
