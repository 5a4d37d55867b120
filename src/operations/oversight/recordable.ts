/** What is asked for, as it may stand in the record: contents by their hashes, variables by their names. Pure. */
import { digest } from '../../audit/digest.ts';
import type { RecordedEvent } from '../../audit/events.ts';
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

/** Fields whose text is one of our own words: a variable with such a value must not take them out of the record. */
const OWN_WORDS: ReadonlySet<string> = new Set([
  ...[
    'type',
    'id',
    'surface',
    'asked_by',
    'operation',
    'language',
    'verdict',
    'by',
    'outcome',
    'runtime',
    'fallback_from',
    'warm',
  ],
  ...['kind', 'code', 'network', 'min_isolation', 'level', 'scope', 'sha256', 'via', 'killed_by', 'signal'],
]);

const OWN_NAMES = /_(?:id|hash|at)$/;

/** Fields whose keys are not ours. */
const MAPS: ReadonlySet<string> = new Set(['files', 'host_map', 'not_collected']);

/** Takes the same out of a whole event, and leaves what says which one it is and what was held. */
export function eventRedactor(
  secrets: readonly string[],
): <Event extends RecordedEvent>(event: Event) => Event {
  // Names of hosts are compared, and told, in small letters.
  const redact = redactor([...secrets, ...secrets.map((secret) => secret.toLowerCase())]);
  const walk = (inner: unknown, name: string): unknown => {
    if (name === 'enforced') return inner;
    if (typeof inner === 'string') return OWN_WORDS.has(name) || OWN_NAMES.test(name) ? inner : redact(inner);
    if (Array.isArray(inner)) return inner.map((element) => walk(element, name));
    if (typeof inner !== 'object' || inner === null) return inner;
    const isMap = MAPS.has(name);
    const members = Object.entries(inner).map(([key, member]) =>
      isMap ? [redact(key), walk(member, '')] : [key, walk(member, key)],
    );
    return Object.fromEntries(members);
  };
  return <Event extends RecordedEvent>(event: Event) => walk(event, '') as Event;
}
