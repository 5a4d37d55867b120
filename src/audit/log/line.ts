/** One record as a line of the log: what its hash covers, and how it is checked. Pure. */
import { createHash } from 'node:crypto';

/** What the first record of a log follows. */
export const GENESIS = '0'.repeat(64);

/** Longer ones are cut before they are written: a reader must be able to hold one in memory. */
export const MAX_LINE_BYTES = 4 * 1024 * 1024;

/** The place of a record in the log. */
export interface Place {
  /** Counts from 1, over all files of the log. */
  readonly seq: number;
  /** SHA-256 of this record, as hexadecimal digits. */
  readonly hash: string;
}

/** A record as it is read back. */
export interface ReadRecord extends Place {
  /** The hash of the record before it. */
  readonly prev: string;
  /** When it was written, as the writer's clock had it. */
  readonly at: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

const SEAL = /^,"hash":"([0-9a-f]{64})"}$/;
const SEAL_BYTES = `,"hash":"${GENESIS}"}`.length;

/**
 * Makes the line of a record, without its end. The hash covers every byte of the line before it, the hash of the
 * record before among them; so whoever checks needs no canonical form of JSON.
 */
export function sealLine(
  { seq: last, hash: prev }: Place,
  at: string,
  event: Readonly<Record<string, unknown>>,
): { line: string; place: Place } {
  const seq = last + 1;
  const open = JSON.stringify({ seq, prev, at, ...event }).slice(0, -1);
  const hash = hashOf(open);
  return { line: `${open},"hash":"${hash}"}`, place: { seq, hash } };
}

/** Reads a line back; undefined for what is no whole record, or has another hash than it says. */
export function openLine(line: Buffer): ReadRecord | undefined {
  const split = line.length - SEAL_BYTES;
  const [, hash] = (split > 0 && SEAL.exec(line.toString('latin1', split))) || [];
  if (hash === undefined || hashOf(line.subarray(0, split)) !== hash) return undefined;
  try {
    const record: unknown = JSON.parse(line.toString('utf8'));
    return isRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is ReadRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { seq, prev, at, type } = value as Partial<ReadRecord>;
  return (
    Number.isSafeInteger(seq) &&
    typeof prev === 'string' &&
    typeof at === 'string' &&
    typeof type === 'string'
  );
}

function hashOf(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
