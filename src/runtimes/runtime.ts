/**
 * The contract of a runtime: all that the author of a driver reads.
 *
 * A runtime only isolates. Deadlines, output capture, cancellation and outcomes are done once, above, in
 * `src/sandbox/`. The clauses in `src/contract/` hold every driver to what it says here, both ways.
 */
import type { Writable } from 'node:stream';
import type { LanguageName } from '../languages/language.ts';
import type { IsolationLevel } from '../policy/isolation.ts';
import type { FilesystemView, LimitName, NetworkMode, Policy, ProcessContainment } from '../policy/policy.ts';

export interface Runtime {
  readonly name: string;
  /** Would it work here, now, and what could it hold? Changes nothing. */
  probe(signal?: AbortSignal): Promise<Probe>;
  /** Starts an empty sandbox. Called only with a policy that it can enforce in full. */
  create(spec: SandboxSpec, signal?: AbortSignal): Promise<Guest>;
  /** Removes what a crashed process of ours left behind, and nothing else; resolves to how many things. */
  sweep?(signal?: AbortSignal): Promise<number>;
}

export type Probe =
  | {
      readonly available: true;
      readonly version: string;
      readonly capabilities: Capabilities;
      /** Why it holds no more than that here and how to get more, in whole sentences; told when more was asked for. */
      readonly whyNotMore?: string;
      /** What a person should know, in whole sentences: what is not held and how to get it. */
      readonly notes?: readonly string[];
      /** What `doctor` says besides, in whole sentences: which cgroups there are, what should be brought up to date. */
      readonly about?: readonly string[];
    }
  | { readonly available: false; readonly reason: string; readonly fix: string };

/** What a runtime can hold on this machine. */
export interface Capabilities {
  readonly isolation: IsolationLevel;
  readonly network: readonly NetworkMode[];
  readonly filesystem: FilesystemView;
  readonly processes: ProcessContainment;
  readonly seccomp: boolean;
  readonly limits: Readonly<Record<LimitName, LimitHolder>>;
}

/** Who holds a limit; `none` means that nobody does. */
export type LimitHolder = 'cgroup' | 'rlimit' | 'tmpfs' | 'engine' | 'timer' | 'none';

/** Exactly what is in force in one sandbox, read from the host and never echoed from the request. */
export interface Enforced {
  readonly isolation: IsolationLevel;
  readonly network: NetworkMode;
  readonly filesystem: FilesystemView;
  readonly processes: ProcessContainment;
  readonly seccomp: boolean;
  /** How an engine holds its containers besides, in its own words; `seccomp=glovebox` is the profile of ours. */
  readonly securityOptions?: readonly string[];
  /** The user id that the host's kernel sees, or null where there is none to see. */
  readonly uid: number | null;
  readonly limits: Readonly<Record<LimitName, EnforcedLimit>>;
}

export interface EnforcedLimit {
  /** In the unit of its name (`cpu` in cores); null when nobody holds it. */
  readonly value: number | null;
  readonly by: LimitHolder;
  /** True when nobody asked for this value. */
  readonly default: boolean;
}

export interface SandboxSpec {
  /** Letters and digits; unique on this host. */
  readonly id: string;
  readonly policy: Policy;
  /** Languages that will be run; a runtime that uses the host's interpreters shows only what these need. */
  readonly languages: readonly LanguageName[];
  /**
   * True when exactly one program will run and nobody looks at the workspace after it: a driver may then save
   * what only keeps files between programs. False or absent promises nothing.
   */
  readonly singleUse?: boolean;
}

/** One isolated place with a workspace, as a driver supplies it. */
export interface Guest {
  readonly enforced: Enforced;
  /** The workspace's absolute path as the program sees it. */
  readonly workspace: string;
  /** The variables that every program gets here: PATH, HOME, PWD, LANG and TMPDIR. */
  readonly environment: Readonly<Record<string, string>>;
  /** The interpreter to start for a language, as a path that is valid inside. Throws `LANGUAGE_UNAVAILABLE`. */
  interpreter(language: LanguageName): Promise<{ readonly path: string; readonly version: string }>;
  /**
   * Starts a program; resolves once it is started. A non-zero exit is a result, not an error.
   * Throws `SANDBOX_FAILED` when the isolation could not be built.
   */
  spawn(command: Command): Promise<GuestProcess>;
  /**
   * Paths are relative to the workspace, or absolute below it. No link is ever followed and nothing but a
   * regular file is opened. Throws `FILE_NOT_FOUND`, `PATH_OUTSIDE_WORKSPACE`, or `INPUT_INVALID` when the
   * file is larger than `maxBytes`.
   */
  readFile(path: string, maxBytes: number): Promise<Uint8Array>;
  /** Replaces the file as a whole and makes missing folders; same confinement as `readFile`. */
  writeFile(path: string, data: Uint8Array): Promise<void>;
  listFiles(path: string): Promise<readonly FileEntry[]>;
  /** Ends every process and removes every trace; safe to call twice. */
  destroy(): Promise<void>;
}

export interface FileEntry {
  readonly name: string;
  /** Absolute, as the program sees it. */
  readonly path: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'other';
  readonly size: number;
  /** ISO 8601. */
  readonly modifiedAt: string;
}

export interface Command {
  /** A program and its arguments; never a shell string. */
  readonly argv: readonly [string, ...string[]];
  /** The complete environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Bytes that the program may read, or `stream` to get a writable end; nothing by default. */
  readonly stdin?: Uint8Array | 'stream';
}

export interface GuestProcess {
  /** Present only when the command asked for `stream`. */
  readonly stdin?: Writable;
  readonly stdout: ByteSource;
  readonly stderr: ByteSource;
  /** Settles when the main program has ended and its tree is gone; rejects only when the isolation failed. */
  readonly exit: Promise<Exit>;
  /** `SIGTERM` goes to the program itself; `SIGKILL` ends the whole tree. Resolves when it was sent. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** Output as it comes; a `Readable` is one. A chunk need only be valid until the next one is asked for. */
export interface ByteSource extends AsyncIterable<Uint8Array> {
  /** Gives up on it: whoever waits for more is told that it has ended. */
  destroy(): void;
}

export interface Exit {
  /** The program's own code, or 128+n for signal n. */
  readonly code: number;
  /** The program itself was ended by the memory limit. */
  readonly outOfMemory: boolean;
  /** How many processes the memory limit ended, or 1 where the runtime only knows that there were some; absent where it cannot tell. */
  readonly oomKills?: number;
  readonly usage?: Usage;
}

/** What a run used, as far as the runtime can tell. */
export interface Usage {
  readonly cpuSec?: number;
  readonly peakMemoryMb?: number;
  readonly peakProcesses?: number;
}
