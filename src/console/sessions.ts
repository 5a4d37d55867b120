/** Who is signed in: kept in memory, and gone with the process. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Someone who has signed in, without the secret of the cookie. */
export interface Session {
  readonly keyId: string;
  /** Stands in every form: another site can send the cookie along, and does not know this. */
  readonly csrf: string;
}

interface Kept extends Session {
  readonly startedAt: number;
  usedAt: number;
}

export interface SessionLimits {
  /** Seconds after signing in. */
  readonly lifetimeSec: number;
  /** Seconds without a person's request. */
  readonly idleSec: number;
  /** Of all; the oldest goes first. */
  readonly count: number;
}

export const SESSION_LIMITS: SessionLimits = { lifetimeSec: 12 * 3600, idleSec: 3600, count: 1000 };

export class Sessions {
  /** By the hash of the cookie's value, so that what is in memory is of no use to who reads it. */
  readonly #kept = new Map<string, Kept>();
  readonly #limits: SessionLimits;
  readonly #now: () => number;

  constructor(now: () => number = Date.now, limits: SessionLimits = SESSION_LIMITS) {
    this.#now = now;
    this.#limits = limits;
  }

  /** Begins one; the result is the value of its cookie, which nobody can guess. */
  start(keyId: string): string {
    const token = randomBytes(32).toString('base64url');
    const now = this.#now();
    const csrf = randomBytes(32).toString('base64url');
    this.#kept.set(hashOf(token), { keyId, csrf, startedAt: now, usedAt: now });
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= this.#limits.count) break;
      this.#kept.delete(oldest);
    }
    return token;
  }

  /** The session of a cookie; `isUse` says that a person asks, which keeps it from ending for want of use. */
  find(token: string | undefined, { isUse }: { readonly isUse: boolean }): Session | undefined {
    if (token === undefined) return undefined;
    const hash = hashOf(token);
    const kept = this.#kept.get(hash);
    if (kept === undefined) return undefined;
    const now = this.#now();
    const { lifetimeSec, idleSec } = this.#limits;
    if (now >= kept.startedAt + lifetimeSec * 1000 || now >= kept.usedAt + idleSec * 1000) {
      this.#kept.delete(hash);
      return undefined;
    }
    if (isUse) kept.usedAt = now;
    return kept;
  }

  end(token: string | undefined): void {
    if (token !== undefined) this.#kept.delete(hashOf(token));
  }
}

/** Takes the same time whatever is given. */
export function isSameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function hashOf(token: string): string {
  return digest(token).toString('hex');
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
