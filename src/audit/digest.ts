import { createHash } from 'node:crypto';

/** A thing by its content. */
export interface Digest {
  readonly bytes: number;
  /** In hexadecimal digits. */
  readonly sha256: string;
}

export function digest(data: string | Uint8Array): Digest {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}
