import { isIP } from 'node:net';
import { SandboxError } from '../errors.ts';
import type { EgressRules } from '../policy/policy.ts';
import { type Authority, parseAuthority, parseHost, parsePort } from './host.ts';
import { quoted, Refusal } from './refusal.ts';

/** One entry of the allowed domains, understood. */
export interface DomainRule {
  /** The canonical name, without the `*.`. */
  readonly name: string;
  /** True for `*.name`: everything below the name, and not the name itself. */
  readonly below: boolean;
  readonly ports: readonly number[];
}

/** Where the operator sends a name. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** The rules, understood once. */
export interface CompiledRules {
  readonly domains: readonly DomainRule[];
  readonly mapped: ReadonlyMap<string, Endpoint>;
}

/** What an entry means that names no port. */
const USUAL_PORTS = [80, 443];

/** The rules of a sandbox that may reach nobody. */
export const NOBODY: CompiledRules = { domains: [], mapped: new Map() };

/** An entry of the rules that cannot be meant; the message is the reason, without the entry itself. */
export class WrongEntry extends Error {}

/** Understands all rules, or throws `INPUT_INVALID` with the first entry that is wrong. */
export function compileRules({ allowedDomains, hostMap }: EgressRules): CompiledRules {
  const domains = allowedDomains.map((entry) =>
    explained(`allowed domain ${quoted(entry)}`, () => parseAllowedDomain(entry)),
  );
  const mapped = new Map<string, Endpoint>();
  for (const [name, target] of Object.entries(hostMap)) {
    const entry = explained(`mapping of ${quoted(name)} to ${quoted(target)}`, () =>
      parseMapping(name, target),
    );
    if (mapped.has(entry.name)) throw wrong(`mapping of ${quoted(name)}`, 'The same name is mapped twice.');
    mapped.set(entry.name, entry.endpoint);
  }
  return { domains, mapped };
}

/** Understands one entry of the allowed domains; throws {@link WrongEntry}. */
export function parseAllowedDomain(entry: string): DomainRule {
  refuseUnlikely(entry);
  const below = entry.startsWith('*.');
  const authority = parseAuthority(below ? entry.slice(2) : entry, 0);
  if (authority === undefined)
    throw new WrongEntry('It is not a domain name, with a port from 1 to 65535 at most.');
  const { host, port } = authority;
  if (host.isAddress)
    throw new WrongEntry('It is an address: allow a name, and map the name to the address.');
  return { name: host.name, below, ports: port === 0 ? USUAL_PORTS : [port] };
}

/** Understands one entry of the host map; throws {@link WrongEntry}. */
export function parseMapping(
  name: string,
  target: string,
): { readonly name: string; readonly endpoint: Endpoint } {
  const host = parseHost(name);
  if (host === undefined || host.isAddress) throw new WrongEntry('Only a whole domain name can be mapped.');
  const [, bracketed, plain, portText = ''] =
    /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):([0-9]+)$/.exec(target) ?? [];
  const address = bracketed ?? plain ?? '';
  const port = parsePort(portText);
  if (isIP(address) !== (bracketed === undefined ? 4 : 6) || port === undefined) {
    throw new WrongEntry('It has to go to address:port, as in 127.0.0.1:8080 or [::1]:8080.');
  }
  return { name: host.name, endpoint: { address: address.toLowerCase(), port } };
}

/** Of the inner domains those that the outer ones allow already, whole. Throws {@link WrongEntry}. */
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

/** The mappings of names that one of the domains allows. Throws `INPUT_INVALID` as `compileRules` does. Pure. */
export function mappingsOf(rules: EgressRules): EgressRules['hostMap'] {
  const { domains } = compileRules(rules);
  const isAllowed = (name: string): boolean => {
    const host = parseHost(name);
    return host !== undefined && domains.some((rule) => matches(rule, host.name));
  };
  return Object.fromEntries(Object.entries(rules.hostMap).filter(([name]) => isAllowed(name)));
}

function covers(outer: DomainRule, inner: DomainRule): boolean {
  const inPorts = inner.ports.every((port) => outer.ports.includes(port));
  const same = outer.name === inner.name && outer.below === inner.below;
  return inPorts && (same || (outer.below && inner.name.endsWith(`.${outer.name}`)));
}

/** Why the rules do not let a request go there; nothing when they do. */
export function judge({ domains }: CompiledRules, { host, port }: Authority): Refusal | undefined {
  if (host.isAddress) {
    return new Refusal(
      'address',
      `Glovebox: ${quoted(host.name)} is an address, and only domains can be allowed (${listed(domains)}). Use a name.`,
    );
  }
  const matching = domains.filter((rule) => matches(rule, host.name));
  if (matching.length === 0) {
    const flag = USUAL_PORTS.includes(port) ? host.name : `${host.name}:${port}`;
    return new Refusal(
      'not_listed',
      `Glovebox: ${quoted(host.name)} is not among the allowed domains (${listed(domains)}). Ask the operator to allow it (--allow-domain ${flag}).`,
    );
  }
  const ports = matching.flatMap((rule) => rule.ports);
  if (ports.includes(port)) return undefined;
  return new Refusal(
    'port',
    `Glovebox: ${quoted(host.name)} is allowed on port ${[...new Set(ports)].join(' and ')} only, not on ${port}. Ask the operator to allow it (--allow-domain ${host.name}:${port}).`,
  );
}

function matches({ name, below }: DomainRule, host: string): boolean {
  return below ? host.endsWith(`.${name}`) : host === name;
}

const MOST_LISTED = 10;

function listed(domains: readonly DomainRule[]): string {
  if (domains.length === 0) return 'there are none';
  const names = domains.slice(0, MOST_LISTED).map(shown).join(', ');
  const more = domains.length - MOST_LISTED;
  return more > 0 ? `${names} and ${more} more` : names;
}

function shown({ name, below, ports }: DomainRule): string {
  return `${below ? '*.' : ''}${name}${ports === USUAL_PORTS ? '' : `:${ports.join()}`}`;
}

/** The mistakes that people make get a reason of their own. */
function refuseUnlikely(entry: string): void {
  if (entry === '') throw new WrongEntry('It is empty.');
  if (entry.includes('://'))
    throw new WrongEntry('It has a scheme: write the name alone, such as example.com.');
  if (entry.includes('/')) throw new WrongEntry('It has a path: write the name alone, such as example.com.');
  if (entry.includes('@')) throw new WrongEntry('It has a user: write the name alone, such as example.com.');
  if (/^\*\.?(:|$)/.test(entry)) {
    throw new WrongEntry(
      'It would allow every domain, and an allowlist does not: ask for an open network instead.',
    );
  }
  if (entry.lastIndexOf('*') > 0 || /^\*[^.]/.test(entry)) {
    throw new WrongEntry('A star can only stand for all that is below a name, as in *.example.com.');
  }
  if (/[^\x00-\x7f]/.test(entry))
    throw new WrongEntry('It has letters beyond ASCII: write the xn-- form of the name.');
  if (isIP(entry) === 6)
    throw new WrongEntry('It is an address: allow a name, and map the name to the address.');
}

function explained<T>(what: string, understand: () => T): T {
  try {
    return understand();
  } catch (error) {
    if (error instanceof WrongEntry) throw wrong(what, error.message);
    throw error;
  }
}

function wrong(what: string, reason: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `The ${what} is not usable. ${reason}`, {
    hint: 'Write names as in example.com, *.example.com or example.com:8443, and mappings as name: address:port.',
  });
}
