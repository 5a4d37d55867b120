/** What a client proves with who it is. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** What stands behind `Bearer` in an `Authorization` header; undefined where it is none, or more than one. */
export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/-]{1,512}=*)$/i.exec(header ?? '')?.[1];
}

/** Whether two secrets are the same, in a time that tells nothing about where they differ or how long they are. */
export function sameSecret(one: string, other: string): boolean {
  return timingSafeEqual(sha256(one), sha256(other));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
