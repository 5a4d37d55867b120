/** A statement of where the log ended at some time, to be kept elsewhere: it shows a log that was cut or replaced. */
import type { KeyObject } from 'node:crypto';
import { SandboxError } from '../errors.ts';
import { type Envelope, seal, unseal } from './envelope.ts';
import type { Place } from './log/line.ts';

const HEAD_TYPE = 'application/vnd.glovebox.audit-head+json';

export interface Head extends Place {
  /** When it was signed, ISO 8601. */
  readonly signed_at: string;
}

export function signHead({ seq, hash }: Place, key: KeyObject): Envelope {
  const head: Head = { seq, hash, signed_at: new Date().toISOString() };
  return seal(HEAD_TYPE, head, key);
}

/** Throws `INPUT_INVALID` when it was not signed by this key. */
export function openHead(envelope: unknown, key: KeyObject): Head {
  const head = unseal(envelope, HEAD_TYPE, key) as Partial<Head>;
  const { seq, hash, signed_at } = head;
  if (Number.isSafeInteger(seq) && typeof hash === 'string' && typeof signed_at === 'string') {
    return head as Head;
  }
  throw new SandboxError('INPUT_INVALID', 'The statement names no record.', {
    hint: 'Give the file as it was made.',
  });
}
