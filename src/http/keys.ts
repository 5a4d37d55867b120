/** Who may ask for what. */
import { SandboxError } from '../errors.ts';
import type { Key, Scope } from '../keys/key.ts';

/** Whoever asks: owns what it makes, and is counted by its id. */
export type Caller = Pick<Key, 'id' | 'name' | 'scopes' | 'quotas'>;

/** Whose secret it is; undefined for one of no key, of a revoked or of an expired one. */
export type Authenticate = (secret: string | undefined) => Caller | undefined;

/** The keys of a server. */
export interface Keys {
  readonly authenticate: Authenticate;
  /** A key as it is now, by its id; undefined once it holds no more. */
  find(id: string): Caller | undefined;
}

/** Throws `UNAUTHENTICATED` for whoever is nobody, and `FORBIDDEN` for whoever may not. */
export function allowed(authenticate: Authenticate, secret: string | undefined, scope: Scope): Caller {
  const caller = authenticate(secret);
  if (caller === undefined) {
    throw new SandboxError(
      'UNAUTHENTICATED',
      secret === undefined
        ? 'The request names no key.'
        : 'The key is not known here, or does not hold any more.',
      { hint: 'Send Authorization: Bearer KEY; an operator makes one with: glovebox keys create' },
    );
  }
  if (caller.scopes.includes(scope)) return caller;
  throw new SandboxError('FORBIDDEN', `This key may not do that: it lacks the scope "${scope}".`, {
    hint: `Use a key with the scope "${scope}".`,
    details: { scope, has: caller.scopes },
  });
}
