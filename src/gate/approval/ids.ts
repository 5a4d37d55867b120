/** Names of questions and grants: random, and checked before they become part of a path. */
import { randomBytes } from 'node:crypto';

const PATTERN = /^[0-9a-f]{16}$/;

/** One that nobody else has. */
export function newId(): string {
  return randomBytes(8).toString('hex');
}

/** Whether `newId` could have made it. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && PATTERN.test(value);
}
