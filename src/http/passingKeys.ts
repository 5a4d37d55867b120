/** Keys that hold as long as the server runs, where nobody has made any. */
import { randomBytes } from 'node:crypto';
import type { Scope } from '../keys/key.ts';
import { sameSecret } from '../web/bearer.ts';
import type { Authenticate, Caller } from './keys.ts';

/** Two secrets: whoever runs code cannot approve it. */
export interface PassingKeys {
  readonly execute: string;
  readonly operate: string;
  readonly authenticate: Authenticate;
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
  };
}

/** Whoever asks may do all that a key may, but answer questions: they would be their own. */
export function anybody(): Authenticate {
  const caller = callerWith('anybody', ['execute', 'audit', 'metrics']);
  return () => caller;
}

function callerWith(name: string, scopes: Scope[]): Caller {
  return { id: `${name}-${randomBytes(6).toString('hex')}`, name, scopes, quotas: {} };
}

function newSecret(): string {
  return `gbx_${randomBytes(32).toString('base64url')}`;
}
