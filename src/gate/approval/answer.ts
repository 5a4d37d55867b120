import type { Answer, GrantWish } from './question.ts';

/** No grant lasts longer than a year, nor does anybody wish for more. */
export const MAX_GRANT_SEC = 365 * 24 * 3600;

/** What a reason is cut to: it ends in records and in what a model reads. */
const MAX_REASON_CHARACTERS = 500;

/** What is made of an answer that is none. */
const MALFORMED: Answer = { approved: false, reason: 'The answer was not one that can be understood.' };

/** What an approver has answered, whatever it resolved to: a yes only where it is nothing but a yes. */
export function readAnswer(value: unknown): Answer {
  return parseAnswer(value) ?? MALFORMED;
}

/** The answer, as a copy of its own; undefined for what is none. Throws for nothing. */
export function parseAnswer(value: unknown): Answer | undefined {
  try {
    const { approved, grant, reason, ...others } = membersOf(value);
    if (Object.keys(others).length > 0) return undefined;
    if (approved === false && grant === undefined) return { approved, ...withReason(reason) };
    if (approved !== true || reason !== undefined) return undefined;
    if (grant === undefined) return { approved };
    const wish = parseWish(grant);
    return wish === undefined ? undefined : { approved, grant: wish };
  } catch {
    // A getter or a proxy of its maker threw.
    return undefined;
  }
}

function parseWish(value: unknown): GrantWish | undefined {
  const { scope, forSec, count, ...others } = membersOf(value);
  if (Object.keys(others).length > 0) return undefined;
  if (scope !== 'exact' && scope !== 'operation') return undefined;
  if (forSec !== undefined && !isPositive(forSec)) return undefined;
  if (count !== undefined && !(isPositive(count) && Number.isSafeInteger(count))) return undefined;
  return {
    scope,
    ...(forSec === undefined ? {} : { forSec: Math.min(forSec, MAX_GRANT_SEC) }),
    ...(count === undefined ? {} : { count }),
  };
}

/** Each is read once: what is looked at is what is used. */
function membersOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError('not an object');
  return { ...value };
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

function withReason(reason: unknown): { reason?: string } {
  return typeof reason === 'string' && reason !== ''
    ? { reason: reason.slice(0, MAX_REASON_CHARACTERS) }
    : {};
}
