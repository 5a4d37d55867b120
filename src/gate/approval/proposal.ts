/** Copies of what is asked for that nobody else holds: what changes outside while a question waits changes nothing. */
import { SandboxError } from '../../errors.ts';
import type { Proposal, Question } from './question.ts';

/** Deeper values are refused: nobody could read them, and everything that walks through them would have to be careful. */
const MAX_DEPTH = 64;

/**
 * A proposal of our own, frozen but for its bytes. Throws `INPUT_INVALID` where it holds what has no text in JSON: two
 * such values could have one hash.
 */
export function ownProposal(proposal: Proposal): Proposal {
  const { operation, code, parameters, unknownContent, policy, runtime } = proposal;
  const { sandboxId, sandboxInstance, askedBy } = proposal;
  return Object.freeze({
    operation,
    ...(code === undefined ? {} : { code: ownCode(code) }),
    parameters: frozenJson(parameters, 'parameters'),
    ...(unknownContent === undefined ? {} : { unknownContent }),
    policy: frozenJson(policy, 'policy'),
    ...{ runtime, sandboxId },
    ...(sandboxInstance === undefined ? {} : { sandboxInstance }),
    ...(askedBy === undefined ? {} : { askedBy }),
  });
}

/** The same question with bytes of its own. */
export function questionCopy(question: Question): Question {
  return question.code === undefined ? question : { ...question, code: ownCode(question.code) };
}

function ownCode({ language, bytes }: NonNullable<Proposal['code']>): NonNullable<Proposal['code']> {
  if (!(bytes instanceof Uint8Array)) throw unusable('code', 'is not given as bytes');
  return Object.freeze({ language, bytes: new Uint8Array(bytes) });
}

/** A frozen copy of what can be written as JSON; what is undefined is left out. */
export function frozenJson<T>(value: T, name: string): T {
  return copied(value, name, 0) as T;
}

function copied(value: unknown, name: string, depth: number): unknown {
  if (depth > MAX_DEPTH) throw unusable(name, `is nested deeper than ${MAX_DEPTH}`);
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (!Number.isFinite(value)) throw unusable(name, `holds ${value}`);
      // Not -0, which has the text of 0.
      return value === 0 ? 0 : value;
    case 'object':
      break;
    default:
      throw unusable(name, `holds a value of the type ${typeof value}`);
  }
  if (value === null) return null;
  if (Array.isArray(value))
    return Object.freeze(Array.from(value, (member) => copied(member, name, depth + 1)));
  if (!isPlain(value)) throw unusable(name, 'holds an object that is not plain data');
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.freeze(
    Object.fromEntries(members.map(([key, member]) => [key, copied(member, name, depth + 1)])),
  );
}

/** Also one of another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function unusable(name: string, what: string): SandboxError {
  return new SandboxError(
    'INPUT_INVALID',
    `What is asked for cannot be shown to a person: its ${name} ${what}.`,
    {
      hint: 'Give values that JSON can hold: text, finite numbers, true, false, null, lists and plain objects.',
      details: { name },
    },
  );
}
