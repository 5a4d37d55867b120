/** Keys that hold as long as the server runs, where nobody has made any. */
import { randomBytes } from 'node:crypto';
import type { Scope } from '../keys/key.ts';
import { sameSecret } from '../web/bearer.ts';
import type { Caller, Keys } from './keys.ts';

/** Two secrets: whoever runs code cannot approve it. */
export interface PassingKeys extends Keys {
  readonly execute: string;
  readonly operate: string;
}

export function passingKeys(): PassingKeys {
  const [execute, operate] = [newSecret(), newSecret()];
  const known: readonly (readonly [secret: string, caller: Caller])[] = [
    [execute, callerWith('execute', ['execute'])],
    [operate, callerWith('operate', ['approve', 'audit', 'metrics'])],
  ];
  return {
    ...{ execute, operate },
    authenticate: (secret) =>
      secret === undefined ? undefined : known.find(([own]) => sameSecret(own, secret))?.[1],
    find: (id) => known.find(([, caller]) => caller.id === id)?.[1],
  };
}

/** Whoever asks may do all that a key may, but answer questions: they would be their own. */
export function anybody(): Keys {
  const caller = callerWith('anybody', ['execute', 'audit', 'metrics']);
  return { authenticate: () => caller, find: (id) => (id === caller.id ? caller : undefined) };
}

function callerWith(name: string, scopes: Scope[]): Caller {
  return { id: `${name}-${randomBytes(6).toString('hex')}`, name, scopes, quotas: {} };
}

function newSecret(): string {
  return `gbx_${randomBytes(32).toString('base64url')}`;
}
