import type { Readable } from 'node:stream';
import type { NetworkDecision } from '../egress/decision.ts';
import { SandboxError } from '../errors.ts';
import type { IsolationLevel } from '../policy/isolation.ts';
import type { NetworkMode, Requirements } from '../policy/policy.ts';
import type { OnOutput } from '../result/output.ts';
import type { StreamName } from '../sandbox/outputPage.ts';

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
  /** The same in bytes; only one of both. */
  readonly maxOutputBytes?: number;
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

/** What varies from execution to execution in a live sandbox; its own limits can only be lowered. */
export interface LiveRunOptions extends RunOptions {
  readonly maxMemoryMb?: number;
  readonly maxProcesses?: number;
  /** Told the execution's id when it is its turn: from then on `output` and `follow` know it. */
  readonly onStart?: (started: { readonly executionId: string }) => void;
}

/** How a command is run in a live sandbox. */
export type ExecOptions = Omit<LiveRunOptions, 'language'>;

/** How a background process is started in a live sandbox. */
export interface StartOptions
  extends Pick<LiveRunOptions, 'args' | 'env' | 'files' | 'onOutput' | 'maxMemoryMb' | 'maxProcesses'> {
  /** Seconds by the wall clock; without it the process may run as long as the sandbox lives. */
  readonly timeout?: number;
  /** Ends the process, with the outcome `cancelled`. */
  readonly signal?: AbortSignal;
  /** How much of each stream is kept, half of it from the beginning and half from the end; 1 MiB by default. */
  readonly maxOutputBytes?: number;
  /** Bytes or a stream to read from, or `stream` for `write` and `closeStdin`; empty by default. */
  readonly stdin?: 'stream' | Uint8Array | Readable;
}

/** How long to wait, and for what. */
export interface WaitOptions {
  /** Seconds; 30 by default. */
  readonly timeout?: number;
}

export interface WaitForLineOptions extends WaitOptions {
  /** Only lines of this stream; of both by default. */
  readonly stream?: StreamName;
}

/** What a sandbox is made with. */
export interface PolicyOptions {
  readonly memoryMb?: number;
  readonly diskMb?: number;
  readonly maxProcesses?: number;
  /** Cores. */
  readonly cpu?: number;
  /** `none` is the default; `allowlist` reaches the allowed domains, `open` everything, where a runtime can. */
  readonly network?: NetworkMode;
  /** `true` reaches the allowed domains and nobody else, `false` nobody at all. */
  readonly networkEnabled?: boolean;
  /** Whom to reach, instead of those in the settings: `example.org`, `*.example.org`, `example.org:8443`. */
  readonly allowedDomains?: readonly string[];
  /** Told each decision about the network once it is over and its numbers are final. */
  readonly onNetwork?: (decision: NetworkDecision) => void;
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
