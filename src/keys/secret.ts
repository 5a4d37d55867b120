/** The secrets of keys: made, named, and compared. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const SECRET = /^gbx_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/;

/** A name for a key that no other has. */
export function newKeyId(): string {
  return randomBytes(8).toString('hex');
}

/** A secret for a key: 256 random bits behind the key's id, which is none. */
export function newSecret(id: string): string {
  return `gbx_${id}_${randomBytes(32).toString('base64url')}`;
}

/** The id in a secret; undefined for what no `newSecret` could have made. */
export function keyIdIn(secret: string): string | undefined {
  return SECRET.exec(secret)?.[1];
}

/**
 * What is kept of a secret, in hex. A slow hash is there for what people think up, which can be guessed: nobody guesses 256
 * random bits, however fast each try is.
 */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Whether two hashes are the same, in the same time wherever they differ. */
export function sameHash(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'));
}
