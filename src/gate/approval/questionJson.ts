/** A question as text, whole, and back. */
import type { Sight } from '../effects.ts';
import { OPERATIONS, RISK_LEVELS, type Risk } from '../risk.ts';
import { isId } from './ids.ts';
import { proposalHash, type Question } from './question.ts';

/** JSON with the same names; the bytes of the code in base64. */
export function questionToJson(question: Question): string {
  const { code, ...others } = question;
  if (code === undefined) return JSON.stringify(others);
  const base64 = Buffer.from(code.bytes).toString('base64');
  return JSON.stringify({ ...others, code: { language: code.language, base64 } });
}

/**
 * The question that a text holds; undefined where it holds none, or where its hash is not that of what it shows. Throws
 * for nothing.
 */
export function questionFromJson(text: string): Question | undefined {
  try {
    const question = asQuestion(JSON.parse(text));
    return question !== undefined && proposalHash(question) === question.hash ? question : undefined;
  } catch {
    // A SyntaxError, or nested deeper than the stack.
    return undefined;
  }
}

type Loose<T> = Partial<Record<keyof T, unknown>>;

function asQuestion(value: unknown): Question | undefined {
  if (!isObject(value)) return undefined;
  const { id, hash, operation, parameters, policy, runtime, sandboxId, sights, risk } =
    value as Loose<Question>;
  const { askedAt, expiresAt, notInspected, unknownContent, sandboxInstance, askedBy } =
    value as Loose<Question>;
  const isWhole =
    isId(id) &&
    typeof hash === 'string' &&
    OPERATIONS.some((name) => name === operation) &&
    isObject(parameters) &&
    isObject(policy) &&
    typeof runtime === 'string' &&
    (sandboxId === null || typeof sandboxId === 'string') &&
    Array.isArray(sights) &&
    sights.every(isSight) &&
    isTextOrAbsent(notInspected) &&
    isTextOrAbsent(unknownContent) &&
    isTextOrAbsent(sandboxInstance) &&
    isTextOrAbsent(askedBy) &&
    isRisk(risk) &&
    isTime(askedAt) &&
    isTime(expiresAt);
  if (!isWhole) return undefined;
  const others = {
    id,
    hash,
    operation,
    parameters,
    policy,
    runtime,
    sandboxId,
    sights,
    risk,
    askedAt,
    expiresAt,
  };
  const told = {
    ...(notInspected === undefined ? {} : { notInspected }),
    ...(unknownContent === undefined ? {} : { unknownContent }),
    ...(sandboxInstance === undefined ? {} : { sandboxInstance }),
    ...(askedBy === undefined ? {} : { askedBy }),
  };
  if (value['code'] === undefined) return { ...others, ...told } as Question;
  const code = asCode(value['code']);
  return code === undefined ? undefined : ({ ...others, ...told, code } as Question);
}

function asCode(value: unknown): Question['code'] {
  if (!isObject(value)) return undefined;
  const { language, base64 } = value;
  if (language !== null && typeof language !== 'string') return undefined;
  return typeof base64 === 'string'
    ? { language, bytes: new Uint8Array(Buffer.from(base64, 'base64')) }
    : undefined;
}

function isSight(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { effect, name, line, why, isDangerous } = value as Loose<Sight>;
  return (
    [effect, name, why].every((text) => typeof text === 'string') &&
    typeof line === 'number' &&
    typeof isDangerous === 'boolean'
  );
}

function isRisk(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { level, ask, timeoutSec, rule, description } = value as Loose<Risk>;
  return (
    RISK_LEVELS.some((name) => name === level) &&
    typeof ask === 'boolean' &&
    typeof timeoutSec === 'number' &&
    (rule === undefined || typeof rule === 'string') &&
    typeof description === 'string'
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTextOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}
