/** Under which names a server may be asked for: whoever points a name of their own at this machine is not answered. */

/** Where a connection came in. */
export interface LocalAddress {
  /** As a socket tells it. */
  readonly address: string;
  readonly port: number;
}

/** A `Host` header, or the same part of an origin. */
interface Host {
  readonly name: string;
  readonly port: number | undefined;
}

const HOST = /^(\[[0-9a-f:.]+\]|[^\s:/?#@,\\[\]]+)(?::(\d{1,5}))?$/;

/** What a `Host` without a port means, where nothing is encrypted. */
const DEFAULT_PORT = 80;

/**
 * Whether a `Host` header names where the request came in: the loopback names, or the very address, with the right port.
 * An attacker's name that leads here (DNS rebinding) is neither. Pure.
 */
export function namesAddress(header: string, local: LocalAddress): boolean {
  const host = parseHost(header);
  if (host === undefined || (host.port ?? DEFAULT_PORT) !== local.port) return false;
  const bare = host.name.replace(/^\[(.*)\]$/, '$1');
  return LOOPBACK_NAMES.includes(host.name) || bare === local.address.replace(/^::ffff:/, '');
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

/** Whether a `Host` header is one of those that an operator allows: `name` for any port, `name:port` for that one. Pure. */
export function isAllowedHost(header: string, allowed: readonly string[]): boolean {
  const host = parseHost(header);
  if (host === undefined) return false;
  return allowed.map(parseHost).some((entry) => {
    return entry?.name === host.name && (entry.port === undefined || entry.port === host.port);
  });
}

/**
 * Whether an `Origin` header is the server's own: where it is asked for without encryption, or a name that an operator
 * allows, behind which something may encrypt. `null`, which is sent for files and frames, is nobody's. Pure.
 */
export function isOwnOrigin(origin: string, local: LocalAddress, allowedHosts: readonly string[]): boolean {
  const [, scheme = '', host = ''] = /^(https?):\/\/(.+)$/.exec(origin.toLowerCase()) ?? [];
  if (scheme === 'http' && namesAddress(host, local)) return true;
  return scheme !== '' && isAllowedHost(host, allowedHosts);
}

function parseHost(header: string): Host | undefined {
  const [, name, port] = HOST.exec(header.toLowerCase()) ?? [];
  return name === undefined ? undefined : { name, port: port === undefined ? undefined : Number(port) };
}
