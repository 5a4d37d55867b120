import { connect, type LookupFunction, type Socket } from 'node:net';
import { Overdue, within } from './deadline.ts';
import type { Authority } from './host.ts';
import type { ProxyLimits } from './limits.ts';
import type { CompiledRules, Endpoint } from './match.ts';
import { quoted, Refusal } from './refusal.ts';
import { publicAddressesOf, type Resolve } from './resolve.ts';

/** Of many addresses, only so many are tried. */
const MOST_TRIED = 4;

export interface DialOptions {
  readonly rules: CompiledRules;
  readonly resolve: Resolve;
  readonly limits: ProxyLimits;
  readonly signal: AbortSignal;
}

/**
 * Connects to where an allowed name really is: the operator's mapping, or one of the addresses that its one resolution
 * gave and that were all looked at. Throws a {@link Refusal}.
 */
export async function dial(target: Authority, options: DialOptions): Promise<Socket> {
  try {
    return await tryAll(target, options);
  } catch (error) {
    if (!options.signal.aborted) throw error;
    throw new Refusal('abandoned', 'Glovebox: whoever asked went away before there was a connection.');
  }
}

async function tryAll({ host, port }: Authority, options: DialOptions): Promise<Socket> {
  const { rules, limits, signal } = options;
  const mapping = rules.mapped.get(host.name);
  const endpoints: Endpoint[] = mapping
    ? [mapping]
    : (await publicAddressesOf(host.name, { ...options, seconds: limits.resolveSec }))
        .slice(0, MOST_TRIED)
        .map((address) => ({ address, port }));
  const seconds = limits.connectSec / endpoints.length;
  let overdue = false;
  for (const endpoint of endpoints) {
    try {
      return await within(seconds, signal, (limit) => connectTo(endpoint, limit));
    } catch (error) {
      overdue ||= error instanceof Overdue;
      if (signal.aborted) throw error;
    }
  }
  const where = `${quoted(host.name)} on port ${port}`;
  throw overdue
    ? new Refusal(
        'timeout',
        `Glovebox: ${where} is allowed, but did not answer within ${limits.connectSec} s.`,
      )
    : new Refusal('unreachable', `Glovebox: ${where} is allowed, but nobody takes a connection there.`);
}

/** Connects to an address, never to a name. */
function connectTo({ address, port }: Endpoint, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true, lookup: neverLookUp });
  return new Promise((resolve, reject) => {
    // Stays, since an error may come before anybody else listens; a close follows it.
    socket.on('error', reject);
    const give = (): void => {
      socket.destroy();
      reject(signal.reason);
    };
    signal.addEventListener('abort', give, { once: true });
    socket.once('connect', () => {
      signal.removeEventListener('abort', give);
      resolve(socket);
    });
  });
}

/** An address needs no resolving; should Node ever want to, the connection fails. */
const neverLookUp: LookupFunction = (_name, _options, callback) => {
  callback(new Error('A name where an address is needed.'), '', 0);
};
