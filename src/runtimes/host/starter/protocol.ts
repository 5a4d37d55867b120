/** What is said to the starter and what it answers; `starter.c` tells what it means. Pure. */
import { constants } from 'node:fs';

/** A descriptor for a program: one of ours, which is opened again with these flags, or `/dev/null`. */
export type Source = { readonly descriptor: number; readonly flags: number } | 'ignore';

export interface StartSpec {
  /** A program and its arguments; with `waits`, the steps of `launcher.h`. */
  readonly argv: readonly string[];
  /** Whether it is a launcher, which waits for what it shall become. */
  readonly waits?: boolean;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** From descriptor 0 on. */
  readonly sources: readonly Source[];
}

export type Answer =
  | { readonly kind: 'started'; readonly id: number; readonly pid: number }
  | { readonly kind: 'failed'; readonly id: number; readonly errno: number }
  | {
      readonly kind: 'exited';
      readonly pid: number;
      readonly code: number | null;
      readonly signal: number | null;
    }
  | { readonly kind: 'pipe'; readonly id: number; readonly read: number; readonly write: number }
  | { readonly kind: 'checked'; readonly id: number };

const REQUEST = { start: 1, signal: 2, makePipes: 3, forget: 4, enlarge: 5, check: 6, prepare: 7 } as const;

const HEADER_BYTES = 12;

/** Every answer has this length. */
export const ANSWER_BYTES = 16;

const MOST_BYTES = 256 * 1024;
const MOST_WORDS = 2048;
const MOST_DESCRIPTORS = 32;

/** The request to start a program; undefined for what the starter does not take, but the kernel might. */
export function startRequest(id: number, spec: StartSpec): Buffer | undefined {
  const { argv, waits = false, cwd, environment, sources } = spec;
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const words = [cwd, ...argv, ...variables];
  // It looks for no program, and a word is ended by a NUL.
  if ((!waits && !argv[0]?.includes('/')) || words.some((word) => word.includes('\0'))) return undefined;
  if (argv.length + variables.length > MOST_WORDS || sources.length > MOST_DESCRIPTORS) return undefined;
  const numbers = [
    ...[argv.length, variables.length, sources.length],
    ...sources.flatMap((source, target) =>
      source === 'ignore'
        ? [-1, target === 0 ? constants.O_RDONLY : constants.O_RDWR]
        : [source.descriptor, source.flags],
    ),
  ];
  const text = Buffer.from(words.map((word) => `${word}\0`).join(''));
  const body = Buffer.concat([toBytes(numbers), text]);
  return body.length > MOST_BYTES ? undefined : request(waits ? REQUEST.prepare : REQUEST.start, id, body);
}

export function signalRequest(pid: number, signal: number): Buffer {
  return request(REQUEST.signal, 0, toBytes([pid, signal]));
}

export function makePipesRequest(id: number, count: number): Buffer {
  return request(REQUEST.makePipes, id, toBytes([count]));
}

export function forgetRequest(): Buffer {
  return request(REQUEST.forget, 0, toBytes([]));
}

export function enlargeRequest(descriptor: number, bytes: number): Buffer {
  return request(REQUEST.enlarge, 0, toBytes([descriptor, bytes]));
}

export function checkRequest(id: number, descriptor: number, nonce: number): Buffer {
  return request(REQUEST.check, id, toBytes([descriptor, nonce]));
}

/** Reads the answer that begins here. */
export function readAnswer(bytes: Buffer): Answer {
  const [kind = 0, id = 0, first = 0, second = 0] = [0, 4, 8, 12].map((offset) => bytes.readInt32LE(offset));
  switch (kind) {
    case 1:
      return { kind: 'started', id, pid: first };
    case 2:
      return { kind: 'failed', id, errno: first };
    case 3: {
      const signal = second & 0x7f;
      return signal === 0
        ? { kind: 'exited', pid: first, code: (second >> 8) & 0xff, signal: null }
        : { kind: 'exited', pid: first, code: null, signal };
    }
    case 4:
      return { kind: 'pipe', id, read: first, write: second };
    case 5:
      return { kind: 'checked', id };
    default:
      throw new Error(`the starter answered ${kind}, which is nothing`);
  }
}

function request(kind: number, id: number, body: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(body.length, 0);
  header.writeUInt32LE(kind, 4);
  header.writeUInt32LE(id, 8);
  return Buffer.concat([header, body]);
}

function toBytes(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  numbers.forEach((number, index) => {
    bytes.writeInt32LE(number, 4 * index);
  });
  return bytes;
}
