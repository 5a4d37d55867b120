import type { Readable } from 'node:stream';
import { SandboxError } from '../errors.ts';
import type { IsolationLevel } from '../policy/isolation.ts';
import type { NetworkMode, Requirements } from '../policy/policy.ts';
import type { OnOutput } from '../result/output.ts';

/** What varies from run to run, in a sandbox of its own or in a live one. */
export interface RunOptions {
  /** `python` (the default), `javascript` or `shell`, or what people also call them. */
  readonly language?: string;
  /** Seconds by the wall clock; cut to `SANDBOX_MAX_TIMEOUT_SEC`. */
  readonly timeout?: number;
  /** Cancels the run: the program is ended, and the outcome is `cancelled`. */
  readonly signal?: AbortSignal;
  /** Output as it comes, all of it; a returned promise holds the program back. */
  readonly onOutput?: OnOutput;
  /** How much of each stream the result keeps, in KB of 1024 bytes. */
  readonly maxOutputKb?: number;
  /** The program's own variables; nothing is inherited. Their values are redacted in artifacts. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the program reads; empty by default. */
  readonly stdin?: string | Uint8Array | Readable;
  readonly args?: readonly string[];
  /** Files to put into the workspace before, by their path in it. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Files of the workspace to bring back in `result.files`. */
  readonly collect?: readonly string[];
}

/** What a sandbox is made with. */
export interface PolicyOptions {
  readonly memoryMb?: number;
  readonly diskMb?: number;
  readonly maxProcesses?: number;
  /** Cores. */
  readonly cpu?: number;
  /** `none` is the default; `open` gives the host's network where a runtime can. */
  readonly network?: NetworkMode;
  /** Refuse anything weaker; combines with `SANDBOX_MIN_ISOLATION` to the strictest. */
  readonly minIsolation?: IsolationLevel;
  /** What must be held; a runtime that cannot is refused with the reason and the fix. */
  readonly requires?: Requirements;
}

export interface ExecuteOptions extends RunOptions, PolicyOptions {}

/** Checks the code itself. */
export function checkCode(code: unknown): asserts code is string | Uint8Array {
  if (typeof code === 'string' || code instanceof Uint8Array) return;
  throw new SandboxError(
    'INPUT_INVALID',
    `The code must be text or bytes, not ${code === null ? 'null' : typeof code}.`,
    {
      hint: "Call execute('print(1)', { language: 'python' }).",
    },
  );
}
