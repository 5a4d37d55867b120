/** The kinds of values that settings about the network have. */
import { parseAllowedDomain, parseMapping, WrongEntry } from '../egress/match.ts';
import { listOf, type ValueType } from './valueTypes.ts';

/** Domains that may be reached; an empty list reaches nobody. */
export const domains: ValueType<readonly string[]> = {
  expected:
    'a list of domains such as example.org or *.example.org, each with :port where it is neither 80 nor 443',
  parse: (text) => listOf(text, readDomain),
  read: (value) => (Array.isArray(value) ? listOf(value, readDomain) : undefined),
  whyNot: (written) => firstReason(Array.isArray(written) ? written : [], whyNotDomain),
  schema: { type: 'array', items: { type: 'string' } },
};

/** Addresses for names: the only way to this machine and to private networks. */
export const hostMap: ValueType<Readonly<Record<string, string>>> = {
  expected: 'a mapping of domains to addresses with a port, such as a.test: "127.0.0.1:8080"',
  parse: () => undefined,
  read(value) {
    if (!isMapping(value) || firstReason(Object.entries(value), whyNotMapping) !== undefined)
      return undefined;
    return Object.freeze({ ...value } as Record<string, string>);
  },
  whyNot: (written) => (isMapping(written) ? firstReason(Object.entries(written), whyNotMapping) : undefined),
  schema: { type: 'object', additionalProperties: { type: 'string' } },
};

/** Addresses of package registries, the one to use first; a single one needs no list. */
export const registries: ValueType<readonly string[]> = {
  expected: 'a list of addresses that begin with https:// or http:// and hold neither a user nor a query',
  parse: (text) => listOf(text, readRegistry),
  read: (value) => listOf(value, readRegistry),
  schema: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] },
};

function readDomain(value: unknown): string | undefined {
  return typeof value === 'string' && whyNotDomain(value) === undefined ? value : undefined;
}

function whyNotDomain(value: unknown): string | undefined {
  return typeof value === 'string' ? reasonOf(() => parseAllowedDomain(value)) : 'It is not a text.';
}

function whyNotMapping([name, target]: [string, unknown]): string | undefined {
  return typeof target === 'string' ? reasonOf(() => parseMapping(name, target)) : 'It is not a text.';
}

function readRegistry(value: unknown): string | undefined {
  return typeof value === 'string' && /^https?:\/\/[^\s@?#]+$/.test(value) && URL.canParse(value)
    ? value
    : undefined;
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function firstReason<Item>(
  items: readonly Item[],
  whyNot: (item: Item) => string | undefined,
): string | undefined {
  return items.map(whyNot).find((reason) => reason !== undefined);
}

function reasonOf(understand: () => unknown): string | undefined {
  try {
    understand();
    return undefined;
  } catch (error) {
    if (error instanceof WrongEntry) return error.message;
    throw error;
  }
}
