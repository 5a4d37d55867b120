import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Recorded } from '../egress/recording.ts';
import type { Language } from '../languages/language.ts';
import type { OnOutput } from '../result/output.ts';
import type { ProgramLimits } from '../runtimes/runtime.ts';
import type { RunOutcome } from './run.ts';

/** One program to run, with all that was left open filled in. */
export interface Program {
  /** What runs: code in a language, or a command as it is. */
  readonly run:
    | { readonly code: Uint8Array; readonly language: Language }
    | { readonly command: readonly [string, ...string[]] };
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: Uint8Array | Readable;
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly collect: readonly string[];
  /** Absent: no deadline of its own. */
  readonly timeoutSec?: number;
  readonly maxOutputBytes: number;
  readonly limits?: ProgramLimits;
  readonly signal?: AbortSignal;
  readonly onOutput?: OnOutput;
  /** Under which its output is kept; not at all where it is absent. */
  readonly executionId?: string;
  /** Told when it is its turn, and its output can be paged. */
  readonly onStart?: () => void;
}

export interface ProgramOutcome extends RunOutcome {
  readonly files?: Readonly<Record<string, Uint8Array>>;
  readonly notCollected?: Readonly<Record<string, string>>;
  readonly interpreterVersion?: string;
  /** What was decided about the sandbox's network while it ran; absent where there is no allowlist. */
  readonly network?: Recorded;
}

/** A program that runs in the background. */
export type BackgroundProgram = Omit<Program, 'stdin' | 'collect'> & {
  readonly stdin?: Program['stdin'] | 'stream';
};

/** A new id for one execution. */
export function newExecutionId(): string {
  return randomUUID();
}
