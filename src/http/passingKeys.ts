/** Keys that hold as long as the server runs, where nobody has made any. */
import { randomBytes } from 'node:crypto';
import { sameSecret } from '../web/bearer.ts';
import type { Caller, Keys, Scope } from './keys.ts';

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
    authenticate: (secret) => known.find(([own]) => sameSecret(own, secret))?.[1],
    ...WITHOUT_QUOTAS,
  };
}

/** Everybody may do everything, as one caller; a question of theirs is answered elsewhere. */
export function nobodysKeys(): Keys {
  const anybody = callerWith('anybody', ['execute', 'audit', 'metrics']);
  return { authenticate: () => anybody, ...WITHOUT_QUOTAS };
}

const WITHOUT_QUOTAS = {
  admitExecution: () => {},
  admitSandbox: () => {},
  spend: () => {},
} satisfies Partial<Keys>;

function callerWith(name: string, scopes: readonly Scope[]): Caller {
  return { id: `${name}-${randomBytes(6).toString('hex')}`, name, scopes };
}

function newSecret(): string {
  return `gb_${randomBytes(32).toString('base64url')}`;
}
