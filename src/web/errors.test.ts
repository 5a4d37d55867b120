import { expect, it } from 'vitest';
import { ERROR_CODES, SandboxError } from '../errors.ts';
import { errorResponse } from './errors.ts';
import { statusOf } from './statusOf.ts';

it('has a status for every code, and 500 for what only we could have caused', () => {
  const codes = [...Object.keys(ERROR_CODES), 'toString', 'none'];
  const of = (status: number) => codes.filter((code) => statusOf(code) === status).sort();
  expect(of(400)).toEqual([
    'CONFIG_INVALID',
    'INPUT_INVALID',
    'LANGUAGE_UNAVAILABLE',
    'PATH_OUTSIDE_WORKSPACE',
    'RUNTIME_UNKNOWN',
  ]);
  expect(of(401)).toEqual(['UNAUTHENTICATED']);
  expect(of(403)).toEqual(['APPROVAL_DENIED', 'FORBIDDEN', 'POLICY_DENIED']);
  expect(of(404)).toEqual(['FILE_NOT_FOUND', 'SANDBOX_NOT_FOUND']);
  expect(of(409)).toEqual(['APPROVAL_PENDING', 'WORKSPACE_CHANGED']);
  expect(of(410)).toEqual(['APPROVAL_EXPIRED', 'SANDBOX_CLOSED']);
  expect(of(422)).toEqual(['POLICY_NOT_ENFORCEABLE']);
  expect(of(429)).toEqual(['QUOTA_EXCEEDED']);
  expect(of(500)).toEqual(['MODEL_FAILED', 'SANDBOX_FAILED', 'WAIT_FAILED', 'none', 'toString']);
  expect(of(503)).toEqual(['AUDIT_UNAVAILABLE', 'POOL_EXHAUSTED', 'RUNTIME_UNAVAILABLE']);
});

it('says how to say who is asking, and with which status a route wants it', () => {
  const error = new SandboxError('UNAUTHENTICATED', 'No key.', { hint: 'Send one.' });
  expect(errorResponse(error).headers.get('www-authenticate')).toBe('Bearer');
  const denied = errorResponse(error, { status: 403 });
  expect([denied.status, denied.headers.get('www-authenticate')]).toEqual([403, null]);
});
