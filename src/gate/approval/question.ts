/** What a person is asked before something is done, and what may be answered. */
import { createHash } from 'node:crypto';
import type { Sight } from '../effects.ts';
import type { Operation, Risk } from '../risk.ts';

/** The thing that is asked for, with all that decides what it does. */
export interface Proposal {
  readonly operation: Operation;
  /** The bytes that will be run or written, whole; absent where there are none. */
  readonly code?: { readonly language: string | null; readonly bytes: Uint8Array };
  /** All else that was given, by the names that every surface has for it; large values as size and SHA-256. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** What is brought along that nobody has read yet, as a sentence; absent where all of it is here, to the byte. */
  readonly unknownContent?: string;
  /** What it will be held to. */
  readonly policy: Readonly<Record<string, unknown>>;
  readonly runtime: string;
  /** Null for one that is made for this and gone afterwards. */
  readonly sandboxId: string | null;
  /** Tells it from others of this id, in other processes and at other times: a grant holds in this one alone. */
  readonly sandboxInstance?: string;
  /** Who asks, where more than one can: a yes to one is none to another. */
  readonly askedBy?: string;
}

export interface Question extends Proposal {
  readonly id: string;
  /** `proposalHash` of what is asked for: what was approved is what has this hash, and nothing else. */
  readonly hash: string;
  readonly sights: readonly Sight[];
  /** Why nothing was seen where nothing could be looked at. */
  readonly notInspected?: string;
  readonly risk: Risk;
  /** ISO 8601. */
  readonly askedAt: string;
  /** From then on the answer is no. */
  readonly expiresAt: string;
}

/** For how much a yes holds: this question alone, the same proposal again, or such an operation in this sandbox. */
export type GrantScope = 'once' | 'exact' | 'operation';

export interface GrantWish {
  readonly scope: Exclude<GrantScope, 'once'>;
  /** Seconds from the answer. */
  readonly forSec?: number;
  /** How often, this time included. */
  readonly count?: number;
}

export type Answer =
  | { readonly approved: true; readonly grant?: GrantWish }
  | { readonly approved: false; readonly reason?: string };

/** A way to a person. */
export interface Approver {
  /** As the record names it: `terminal`, `console`, a program's own. */
  readonly name: string;
  /**
   * Asks, and resolves to the answer; rejects where nobody can be asked. The signal comes when somebody else has
   * answered or time is up: nothing must be left of the question then.
   */
  ask(question: Question, signal: AbortSignal): Promise<Answer>;
}

/** SHA-256 of everything that decides what will be done. Changes with any byte of code, policy or parameters. */
export function proposalHash(proposal: Proposal): string {
  const { operation, code, parameters, unknownContent, policy, runtime } = proposal;
  const { sandboxId, sandboxInstance, askedBy } = proposal;
  const hashed = {
    ...{ operation, runtime, sandboxId, sandboxInstance, askedBy },
    code: code === undefined ? null : { language: code.language, sha256: sha256(code.bytes) },
    ...{ policy, parameters, unknownContent },
  };
  return sha256(JSON.stringify(hashed, sortedKeys));
}

/** In hexadecimal digits. */
export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** So that the same values give the same text, in whatever order they were written. */
function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries);
}
