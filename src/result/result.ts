import type { NetworkDecision } from '../egress/decision.ts';
import type { LanguageName } from '../languages/language.ts';
import type { LimitName } from '../policy/policy.ts';
import type { Enforced, Root, Usage, WarmedBy } from '../runtimes/runtime.ts';

/** How an execution ended. A program that fails is an outcome, never an exception. */
export type Outcome =
  | 'exited'
  | 'timed_out'
  | 'killed'
  | 'out_of_memory'
  | 'cancelled'
  | 'blocked'
  | 'denied';

/** The one result, the same on every runtime. In JSON the names are snake_case. */
export interface ExecutionResult {
  /** UTF-8 with invalid bytes replaced; head and tail around `... (output truncated)` when it was cut. */
  readonly stdout: string;
  readonly stderr: string;
  /** The program's own; 128+n for signal n; -1 when it timed out; 1 when it was refused before running. */
  readonly exitCode: number;
  /** Seconds of the execution itself. */
  readonly duration: number;
  readonly truncated: boolean;
  readonly timedOut: boolean;
  readonly outcome: Outcome;
  /** True only for `exited` with 0. */
  readonly ok: boolean;
  /** Files named in `collect` that the program left behind, by the name that was asked for. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  readonly meta: ExecutionMeta;
}

export interface ExecutionMeta {
  readonly runtime: string;
  /** The runtime that was wanted, where it was unavailable and the configured fallback ran instead. */
  readonly fallbackFrom?: string;
  readonly language: LanguageName | null;
  /** What held; null when nothing was started. */
  readonly enforced: Enforced | null;
  readonly truncated: boolean;
  readonly timedOut: boolean;
  /** Modules that the static check found on the blocked list. */
  readonly blockedImports: readonly string[];
  /** What the static check noticed besides, where it was asked to look. */
  readonly findings?: readonly Finding[];
  /** The limits that were wanted; `enforced` says which of them held. */
  readonly resourceLimits: Readonly<Record<LimitName, number | null>> & { readonly maxOutputKb: number };
  /** True byte counts, also of what was cut. */
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly versions: Readonly<Record<string, string>>;
  /** Whose files the program found as its system; absent where nothing was started. */
  readonly root?: Root;
  readonly sandboxId: string | null;
  /** How its interpreter came to wait for it, made ready beforehand; absent where it was started for the program. */
  readonly warm?: WarmedBy;
  readonly executionId: string;
  /** The place of its last record in the audit log: whoever keeps this can show that the log was cut or replaced. */
  readonly record?: { readonly seq: number; readonly hash: string };
  /** Where the artifact was stored. */
  readonly artifact?: string;
  readonly usage?: Usage;
  /** What was decided about the network while it ran; absent where there is no allowlist. */
  readonly network?: NetworkRecord;
  /** The limit that ended the program; `lifetime` is that of its sandbox. */
  readonly killedBy?: 'timeout' | 'memory' | 'cpu' | 'file_size' | 'lifetime';
  /** The signal's number, for `killed`. */
  readonly signal?: number;
  /** How many processes the memory limit ended, the main program or its children. */
  readonly oomKills?: number;
  /** Files named in `collect` that could not be had, with the reason. */
  readonly notCollected?: Readonly<Record<string, string>>;
  /** What the caller should know: clamped values, weaker states that were accepted, artifacts not written. */
  readonly warnings?: readonly string[];
}

/** Who was asked for, and what became of it. */
export interface NetworkRecord {
  readonly decisions: readonly NetworkDecision[];
  /** How many more there were, which are not told. */
  readonly dropped: number;
  /** Sums over all that is told, as bytes on the wire. */
  readonly bytesUp: number;
  readonly bytesDown: number;
}

/** Something that the code seems to do, read from its syntax. Advice, never a wall. */
export interface Finding {
  /** What kind of thing, e.g. `dangerous_call`. */
  readonly kind: 'dangerous_call' | 'blocked_import';
  /** The name as the code says it, e.g. `os.system`. */
  readonly name: string;
  /** 1-based. */
  readonly line: number;
  readonly message: string;
}
