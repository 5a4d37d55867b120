/**
 * The contract of a runtime: all that the author of a driver reads.
 *
 * A runtime only isolates. Deadlines, output capture, cancellation and outcomes are done once, above, in
 * `src/sandbox/`. The clauses in `src/contract/` hold every driver to what it says here, both ways.
 */
import type { Duplex, Writable } from 'node:stream';
import type { LeftOut, TransferLimits } from '../archive/entry.ts';
import type { LanguageName } from '../languages/language.ts';
import type { IsolationLevel } from '../policy/isolation.ts';
import type { FilesystemView, LimitName, NetworkMode, Policy, ProcessContainment } from '../policy/policy.ts';

export type { LeftOut, TransferLimits } from '../archive/entry.ts';

export interface Runtime {
  readonly name: string;
  /** Would it work here, now, and what could it hold? Changes nothing. */
  probe(signal?: AbortSignal): Promise<Probe>;
  /** Starts an empty sandbox. Called only with a policy that it can enforce in full. */
  create(spec: SandboxSpec, signal?: AbortSignal): Promise<Guest>;
  /** Gives up what it keeps ready between guests, as far as no guest needs it. */
  rest?(): Promise<void>;
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
  /**
   * The one program will be code in this language (`singleUse` is true then, and there is no relay): a driver that can
   * starts its interpreter now, which then only waits for the program. Others leave it alone.
   */
  readonly warm?: WarmWish;
  /**
   * A relay for each network that the programs of this sandbox share, or for each program where none is shared. It
   * is in place before any of them runs. Always present when the network is an allowlist.
   */
  readonly relay?: RelayWish;
}

export interface WarmWish {
  readonly language: LanguageName;
  /** Modules that the interpreter imports while it waits. */
  readonly preload: readonly string[];
  /** Somebody waits for one already: what is done only so that a program begins sooner would keep others from theirs. */
  readonly isAwaited?: boolean;
}

/**
 * How an interpreter came to wait: made by a fork of one that was started once, or started for this sandbox.
 */
export type WarmedBy = 'fork_server' | 'waiting_interpreter';

/**
 * The only way between a sandbox's network and us. The driver runs the program of `relay/`, with `port` as its only
 * argument, inside that network and held like any other program; its standard input and output are the way.
 */
export interface RelayWish {
  /** Where the relay listens on 127.0.0.1 inside; 0 when it only makes connections to ports inside. */
  readonly port: number;
  /** Takes over the relay's streams. Resolves once it said that it is ready; rejects when it is not in time. */
  attach(streams: RelayStreams): Promise<Relay>;
}

export interface RelayStreams {
  /** The relay's standard input. */
  readonly input: Writable;
  /** Its standard output. */
  readonly output: ByteSource;
}

/** A relay that works. */
export interface Relay {
  /** A connection to a port of 127.0.0.1 inside. Rejects when nobody listens there. */
  connect(port: number): Promise<Duplex>;
  /** Settles when the relay is gone; nothing of its network reaches us any more. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Whose files a program finds as its system. */
export type Root =
  /** This host's own; its name and version as `/etc/os-release` has it. */
  | { readonly kind: 'host'; readonly name: string }
  /** An image's: `id` is its digest, which no other image has. */
  | { readonly kind: 'image'; readonly name: string; readonly id: string }
  /** Those below a folder of this host. */
  | { readonly kind: 'folder'; readonly name: string };

/** One isolated place with a workspace, as a driver supplies it. */
export interface Guest {
  readonly enforced: Enforced;
  /**
   * Present where an interpreter waits. Then exactly one program can be spawned: what `Language.command` makes for the
   * language that was wished, for the file of its usual name in the workspace, which is written before. It gets what a
   * program of any guest gets, and cannot tell the difference. Its `exit` settles as soon as a process inside that is
   * not the program's has waited for it; what else is left of its tree is on its end then, and `destroy` waits for it.
   */
  readonly warmedBy?: WarmedBy;
  /** Absent where nobody can tell. */
  readonly root?: Root;
  /** The workspace's absolute path as the program sees it. */
  readonly workspace: string;
  /** True when programs that run side by side share 127.0.0.1. */
  readonly sharesLoopback: boolean;
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
  /** At most `maxEntries`, sorted by name; where there are more, which of them is not said. */
  listFiles(path: string, maxEntries: number): Promise<readonly FileEntry[]>;
  /**
   * Removes a file or whatever else is no folder: a link itself, and never what it leads to. A folder goes only with
   * `recursive`, with all that is in it, else it is `INPUT_INVALID`; so is the workspace itself. Throws
   * `FILE_NOT_FOUND` where there is nothing.
   */
  removeFile(path: string, options?: RemoveOptions): Promise<void>;
  /**
   * A folder with all that is in it, or a file, as a tar archive (ustar, pax), made while it is read. Names are relative to
   * the folder, or the file's own. Links are links and lead where they say; hard links are files of their own; all else
   * that is no file and no folder is left out. Same confinement as `readFile`; a file is as long in the archive as
   * it was said to be, whatever a program makes of it meanwhile. More than the limits allow is `INPUT_INVALID`, thrown
   * where it is met.
   */
  pack(path: string, limits: TransferLimits): Promise<Archive>;
  /**
   * Writes what a tar archive holds into a folder, which is made where it is missing; same confinement as `writeFile`.
   * Files are replaced, folders are filled, and of a mode only whether a file is a program is kept. An entry that leads
   * out, or through a link, is `PATH_OUTSIDE_WORKSPACE`; one that is no file, no folder and no wanted link, an archive
   * that is not whole, and one that has no room are `INPUT_INVALID`. What was unpacked until then stays. A chunk of the
   * archive must not change after it was given.
   */
  unpack(path: string, archive: AsyncIterable<Uint8Array>, options: UnpackOptions): Promise<Unpacked>;
  /**
   * Settles, with the reason in a sentence, when what the sandbox lives on has gone by no doing of ours. Absent
   * where there is nothing that could go.
   */
  readonly lost?: Promise<string>;
  /** Ends every process and removes every trace; safe to call twice. */
  destroy(): Promise<void>;
}

export interface RemoveOptions {
  readonly recursive?: boolean;
}

/** An archive as it comes; each chunk is the reader's own. Whoever does not read it to its end destroys it. */
export interface Archive extends ByteSource {
  /** What is not in it, and why; complete once the archive is at its end. */
  readonly leftOut: readonly LeftOut[];
}

export interface UnpackOptions extends TransferLimits {
  /** Symbolic links in the archive: refused, or made as they are written; nothing ever follows them. */
  readonly links?: 'refused' | 'kept';
  /** Gives up; what was unpacked until then stays. */
  readonly signal?: AbortSignal;
}

/** What came of an archive; links count as files. */
export interface Unpacked {
  readonly files: number;
  /** Those that the archive names. */
  readonly folders: number;
  readonly bytes: number;
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
  /** What this program may use at most, where that is less than what the sandbox may. */
  readonly limits?: ProgramLimits;
  /** The program gets a network of its own with this relay in it, and not the sandbox's. */
  readonly relay?: RelayWish;
}

export interface ProgramLimits {
  readonly memoryMb?: number;
  readonly processes?: number;
  /** How long it will be left running, where that is not the sandbox's own: processor time is bounded by it. */
  readonly timeoutSec?: number;
}

export interface GuestProcess {
  /** Present only when the command asked for `stream`. */
  readonly stdin?: Writable;
  readonly stdout: ByteSource;
  readonly stderr: ByteSource;
  /** Settles when the main program has ended and its tree is gone; rejects only when the isolation failed. */
  readonly exit: Promise<Exit>;
  /** The relay in the network that the program has, where there is one. */
  readonly relay?: Relay;
  /**
   * `SIGTERM` goes to the program itself, `SIGINT` to it and to all that it started, as Ctrl-C does; `SIGKILL` ends the
   * whole tree. Resolves when it was sent.
   */
  kill(signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** A signal may still be on its way to the program when `kill` resolves: others hand it on, who may have to wait. */
  readonly signalsComeLate?: boolean;
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
