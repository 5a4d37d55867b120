import { Resolver } from 'node:dns/promises';
import { isPublicAddress } from './addresses.ts';
import { Overdue, within } from './deadline.ts';
import { quoted, Refusal } from './refusal.ts';

/** Asks for all addresses of a name; rejects when there are none. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Asks the name servers of this host, and nobody else: `lookup` would also read the hosts file and add search domains.
 * An answer for one family is an answer.
 */
export const askNameServers: Resolve = async (name, signal) => {
  const resolver = new Resolver();
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const failure = answers.find((answer) => answer.status === 'rejected');
    if (addresses.length === 0 && failure !== undefined) throw failure.reason;
    return addresses;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
};

/** The addresses that may be dialled for a name, asked for exactly once. Throws a {@link Refusal}. */
export async function publicAddressesOf(
  name: string,
  { resolve, seconds, signal }: { resolve: Resolve; seconds: number; signal: AbortSignal },
): Promise<readonly string[]> {
  const addresses = await ask(name, resolve, seconds, signal);
  const forbidden = addresses.find((address) => !isPublicAddress(address));
  if (forbidden !== undefined) {
    // Which one it is stays with the operator: it says something about the network outside.
    throw new Refusal(
      'private_address',
      `Glovebox: ${quoted(name)} has an address that is not on the public internet (loopback, private or reserved). The operator can map the name to it (network.host_map).`,
      String(forbidden).slice(0, 100),
    );
  }
  if (addresses.length === 0) throw new Refusal('unresolved', notFound(name, 'no address'));
  return addresses;
}

async function ask(
  name: string,
  resolve: Resolve,
  seconds: number,
  outer: AbortSignal,
): Promise<readonly string[]> {
  try {
    return await within(seconds, outer, (signal) => resolve(name, signal));
  } catch (error) {
    if (error instanceof Overdue) {
      throw new Refusal(
        'timeout',
        `Glovebox: the name servers did not answer for ${quoted(name)} within ${seconds} s.`,
      );
    }
    const code = String((error as NodeJS.ErrnoException).code);
    throw new Refusal('unresolved', notFound(name, /^[A-Z_]{1,40}$/.test(code) ? code : 'an error'));
  }
}

function notFound(name: string, answer: string): string {
  return `Glovebox: ${quoted(name)} is allowed, but the name servers answered with ${answer}. Is the name right?`;
}
