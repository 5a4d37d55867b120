/** Who may ask for what. */
import { SandboxError } from '../errors.ts';

export const SCOPES = ['execute', 'approve', 'audit', 'metrics'] as const;
export type Scope = (typeof SCOPES)[number];

/** Whoever asks, as far as the server knows. */
export interface Caller {
  /** Owns what it makes. */
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
}

/** How the server learns who asks, and what they may still use. */
export interface Keys {
  /** Undefined for a secret that is of no key, of a revoked or of an expired one. */
  authenticate(secret: string): Caller | undefined;
  /** Each throws `QUOTA_EXCEEDED` with `details.retry_after_sec`. */
  admitExecution(caller: Caller): void;
  admitSandbox(caller: Caller, liveCount: number): void;
  spend(caller: Caller, spent: { readonly cpuSec: number; readonly bytes: number }): void;
}

/** Throws `UNAUTHENTICATED` for whoever is nobody, and `FORBIDDEN` for whoever may not. */
export function allowed(keys: Keys, secret: string | undefined, scope: Scope): Caller {
  const caller = secret === undefined ? undefined : keys.authenticate(secret);
  if (caller === undefined) {
    throw new SandboxError(
      'UNAUTHENTICATED',
      secret === undefined
        ? 'The request names no key.'
        : 'The key is not known here, or does not count any more.',
      { hint: 'Send Authorization: Bearer KEY; an operator makes one with: glovebox keys create' },
    );
  }
  if (caller.scopes.includes(scope)) return caller;
  throw new SandboxError('FORBIDDEN', `This key may not do that: it lacks the scope "${scope}".`, {
    hint: `Use a key with the scope "${scope}".`,
    details: { scope, has: caller.scopes },
  });
}
