/** Who is let in, by what an operator has set up. */
import { SandboxError } from '../errors.ts';
import { isLive } from '../keys/key.ts';
import type { Keyring } from '../keys/keyring.ts';
import { isLoopback } from '../web/loopback.ts';
import type { Caller, Keys } from './keys.ts';
import { anybody, passingKeys } from './passingKeys.ts';

export interface Access {
  readonly keys: Keys;
  /** Whether others than this machine may be listened to. */
  readonly allowRemote: boolean;
  /** What a person has to know at every start. */
  readonly notes: readonly string[];
}

/**
 * Keys that are stored count alone. Without any, keys that hold as long as the server runs, and only for this machine.
 * Throws `POLICY_DENIED` beyond it, and `CONFIG_INVALID` where the stored keys are not believed.
 */
export function accessFor(
  host: string,
  keyring: Pick<Keyring, 'authenticate' | 'hasLiveKeys' | 'list'>,
  isInsecure: boolean,
): Access {
  if (isInsecure) return { keys: anybody(), allowRemote: true, notes: insecure(host) };
  if (keyring.hasLiveKeys()) return { keys: storedKeys(keyring), allowRemote: true, notes: [] };
  if (!isLoopback(host)) throw beyond(host);
  const keys = passingKeys();
  return {
    ...{ keys, allowRemote: false },
    notes: [
      'No key is stored (glovebox keys create), so these hold until the server ends:',
      `  to run code: ${keys.execute}`,
      `  to approve, and to read the record: ${keys.operate}`,
    ],
  };
}

function storedKeys(keyring: Pick<Keyring, 'authenticate' | 'list'>): Keys {
  return {
    authenticate: (secret) => (secret === undefined ? undefined : keyring.authenticate(secret)),
    find(id): Caller | undefined {
      const found = keyring.list().find((key) => key.id === id);
      return found !== undefined && isLive(found, Date.now()) ? found : undefined;
    },
  };
}

function insecure(host: string): readonly string[] {
  return [
    'WARNING: --insecure-no-authentication: NOBODY IS ASKED FOR A KEY.',
    isLoopback(host)
      ? 'WARNING: Every program on this machine can run code here, and read all that is recorded.'
      : `WARNING: WHOEVER REACHES ${host} CAN RUN CODE HERE, and read all that is recorded.`,
  ];
}

function beyond(host: string): SandboxError {
  return new SandboxError(
    'POLICY_DENIED',
    `${JSON.stringify(host)} can be reached from other machines, and no key is stored that holds.`,
    {
      hint: 'Make a key first: glovebox keys create. Or listen on 127.0.0.1. Only where something else checks who asks: --insecure-no-authentication',
      details: { host },
    },
  );
}
