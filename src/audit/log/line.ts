/** One record as a line of the log: what its hash covers, and how it is checked. Pure. */
import { createHash } from 'node:crypto';

/** What the first record of a log follows. */
export const GENESIS = '0'.repeat(64);

/** Longer ones are refused before they are written: a reader must be able to hold one in memory. */
export const MAX_LINE_BYTES = 4 * 1024 * 1024;

/** What is left of it for an event, beside the number, the hashes and the time. */
const MAX_EVENT_BYTES = MAX_LINE_BYTES - 256;

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

/** An event as it stands in a line: JSON, without braces. Throws where a line with it would be too long. */
export function eventText(event: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(event).slice(1, -1);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_EVENT_BYTES)
    throw new Error(`a record of ${bytes} bytes is too long: ${MAX_EVENT_BYTES} are the most`);
  return text;
}

/**
 * Makes the line of a record, without its end, of the text of an event. The hash covers every byte of the line before it, the hash of the
 * record before among them; so whoever checks needs no canonical form of JSON.
 */
export function sealLine(
  { seq: last, hash: prev }: Place,
  at: string,
  text: string,
): { line: string; place: Place } {
  const seq = last + 1;
  const open = `${JSON.stringify({ seq, prev, at }).slice(0, -1)},${text}`;
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
