/** The kinds of values that settings about the network have. */
import { type DomainRule, parseAllowedDomain, parseMapping, WrongEntry } from '../egress/match.ts';
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

/** Of the inner domains those that the outer ones allow already. */
export function narrowerDomains(
  outer: readonly string[] | undefined,
  inner: readonly string[],
): readonly string[] {
  const allowed = (outer ?? []).map(parseAllowedDomain);
  return Object.freeze(
    inner.filter((entry) => {
      const wanted = parseAllowedDomain(entry);
      return allowed.some((rule) => covers(rule, wanted));
    }),
  );
}

function covers(outer: DomainRule, inner: DomainRule): boolean {
  const inPorts = inner.ports.every((port) => outer.ports.includes(port));
  const same = outer.name === inner.name && outer.below === inner.below;
  return inPorts && (same || (outer.below && inner.name.endsWith(`.${outer.name}`)));
}

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
