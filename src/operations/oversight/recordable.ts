/** What is asked for, as it may stand in the record: contents by their hashes, variables by their names. Pure. */
import { digest } from '../../audit/digest.ts';
import { redactor } from '../../audit/redact.ts';
import type { Request } from './oversight.ts';

export function recordable({ code, parameters, secrets = [] }: Request) {
  return {
    ...(code === undefined ? {} : { language: code.language, code: digest(code.bytes) }),
    parameters: withoutSecrets(
      Object.fromEntries(
        Object.entries(parameters).map(([name, value]) => [name, name === 'env' ? namesOf(value) : value]),
      ),
      secrets,
    ),
  };
}

function namesOf(env: unknown): readonly string[] {
  return typeof env === 'object' && env !== null ? Object.keys(env).sort() : [];
}

/** Takes the values of variables, and what looks like a key, out of all that is text; of a content only its hash stays. */
export function withoutSecrets<Value>(value: Value, secrets: readonly string[]): Value {
  const redact = redactor(secrets);
  const walk = (inner: unknown): unknown => {
    if (typeof inner === 'string') return redact(inner);
    if (Array.isArray(inner)) return inner.map(walk);
    if (typeof inner !== 'object' || inner === null) return inner;
    if ('sha256' in inner && 'bytes' in inner) return { bytes: inner.bytes, sha256: inner.sha256 };
    return Object.fromEntries(Object.entries(inner).map(([key, member]) => [redact(key), walk(member)]));
  };
  return walk(value) as Value;
}
