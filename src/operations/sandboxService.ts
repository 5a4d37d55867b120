/** What a manager of sandboxes offers wherever they are: in this process (`SandboxManager`) or on a server (`connect`). */
import type { Readable } from 'node:stream';
import type { RegistryName } from '../languages/installers/installer.ts';
import type { InstallResult } from '../result/installResult.ts';
import type { ExecutionResult } from '../result/result.ts';
import type { Enforced, FileEntry, RemoveOptions, Unpacked } from '../runtimes/runtime.ts';
import type { ProcessStatus } from '../sandbox/background.ts';
import type { SandboxEnd } from '../sandbox/ended.ts';
import type { OutputLine } from '../sandbox/lines.ts';
import type { OutputPage, PageRequest } from '../sandbox/outputPage.ts';
import type { Forwarding } from '../sandbox/ports.ts';
import type { FileContent } from '../sandbox/sandbox.ts';
import type {
  DownloadOptions,
  TransferOptions,
  Transferred,
  UploadFromOptions,
  UploadOptions,
} from '../sandbox/transfer.ts';
import type { BackgroundJob } from './backgroundProcess.ts';
import type { ContextOptions, SandboxContext } from './contexts.ts';
import type { DryRun, DryRunOptions } from './dryRun/dryRun.ts';
import type { InstallOptions } from './installPackage.ts';
import type { LifeOptions } from './liveSandbox.ts';
import type {
  ExecOptions,
  LiveRunOptions,
  PolicyOptions,
  StartOptions,
  WaitForLineOptions,
  WaitOptions,
} from './options.ts';

/** What is at hand in this process and has to be asked for on a server; `await` fits both. */
type MaybePromise<Value> = Value | Promise<Value>;

/** What a sandbox may use; an execution may only lower it. */
export interface SandboxLimits {
  readonly memoryMb?: number;
  /** Cores. */
  readonly cpu?: number;
  readonly diskMb?: number;
  readonly processes?: number;
  /** Of one execution, where it names no timeout. */
  readonly timeoutSec?: number;
  /** Of each stream of one execution, where it names none. */
  readonly maxOutputBytes?: number;
}

/** How a sandbox of a service is made. */
export interface ServiceSandboxOptions
  extends Omit<LifeOptions, 'forwardPorts'>,
    Pick<PolicyOptions, 'network' | 'networkEnabled' | 'allowedDomains' | 'minIsolation' | 'requires'> {
  /** What it shall be called: letters, digits, `.`, `-`, `_`; an id of its own otherwise. */
  readonly sandboxId?: string;
  readonly limits?: SandboxLimits;
}

/** One live sandbox of a service; times are ISO 8601. */
export interface SandboxInfo {
  readonly id: string;
  readonly runtime: string;
  readonly language: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly lastUsedAt: string;
  /** Whether an execution or a background process runs. */
  readonly running: boolean;
}

/** Live sandboxes by their ids. Whoever makes one closes it, or says `await using`. */
export interface SandboxService extends AsyncDisposable {
  /**
   * Makes a sandbox and resolves to its id. Throws `QUOTA_EXCEEDED` when there are as many as there may be, and
   * `INPUT_INVALID` for an id that is taken.
   */
  createSandbox(options?: ServiceSandboxOptions): Promise<string>;
  executeCode(id: string, code: string | Uint8Array, options?: LiveRunOptions): Promise<ExecutionResult>;
  exec(id: string, argv: readonly [string, ...string[]], options?: ExecOptions): Promise<ExecutionResult>;
  writeFile(id: string, path: string, content: string | Uint8Array): Promise<{ path: string; size: number }>;
  readFile(id: string, path: string): Promise<FileContent>;
  listFiles(id: string, path?: string): Promise<{ files: readonly FileEntry[] }>;
  /** Installs one package from `pypi` or `npm`; without a registry from that of the sandbox's language. */
  installPackage(
    id: string,
    name: string,
    registry?: RegistryName,
    options?: Omit<InstallOptions, 'registry'>,
  ): Promise<InstallResult>;
  /**
   * The handle on a sandbox. Throws `SANDBOX_NOT_FOUND` for an id that is not known or that was destroyed, and
   * `SANDBOX_CLOSED` with the reason for one that has ended otherwise.
   */
  get(id: string): MaybePromise<SandboxHandle>;
  /** Those that live. */
  list(): MaybePromise<readonly SandboxInfo[]>;
  /** Ends it and removes every trace. Throws `SANDBOX_NOT_FOUND`; one that has ended is what was asked for. */
  destroySandbox(id: string): Promise<void>;
  /** Ends all that were made here, those that are being made too; every later call is refused. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * A live sandbox: files last between executions, each execution has a fresh interpreter. Every call throws
 * `SANDBOX_CLOSED`, with the reason, once it has ended.
 */
export interface SandboxHandle extends AsyncDisposable {
  readonly id: string;
  readonly runtime: string;
  readonly enforced: Enforced;
  /** What the caller should know of its making: clamped values, weaker states that were accepted. */
  readonly warnings: readonly string[];
  /** ISO 8601. */
  readonly createdAt: string;
  /** When its lifetime is over, ISO 8601. */
  readonly expiresAt: string;
  /** Why and when it ended; undefined as long as it lives, or as nothing else is known here. */
  readonly ended: SandboxEnd | undefined;
  /** Settles when it has ended and nothing of it is left; never rejects. */
  readonly whenEnded: Promise<SandboxEnd>;
  /** Executions and commands of one sandbox run one after another, in the order of the calls. */
  execute(code: string | Uint8Array, options?: LiveRunOptions): Promise<ExecutionResult>;
  /** Runs a program with its arguments, in the same order and with the same result as code. */
  exec(argv: readonly [string, ...string[]], options?: ExecOptions): Promise<ExecutionResult>;
  /**
   * Runs code, or a command, in a copy of the workspace, which is gone afterwards: what it did can be looked at, and then be
   * made to count or be forgotten. Hosts that are allowed are really reached.
   */
  dryRun(job: BackgroundJob, options?: DryRunOptions): Promise<DryRun>;
  /** Starts a process that runs beside the executions. Throws `POLICY_DENIED` for code that is blocked. */
  start(job: BackgroundJob, options?: StartOptions): Promise<ProcessHandle>;
  /** The background processes, in the order of their start; of those that have ended the last 20. */
  processes(): MaybePromise<readonly ProcessHandle[]>;
  /** Starts a language that keeps its state between executions; `language` otherwise is the sandbox's. */
  context(language?: string, options?: ContextOptions): Promise<SandboxContext>;
  /** Opens a port of this host's loopback that leads to one inside. Throws `POLICY_DENIED` where that is not allowed. */
  forward(port: number, options?: { readonly hostPort?: number }): Promise<Forwarding>;
  /** A page of the output of one of its executions, also while it runs. */
  output(executionId: string, request?: PageRequest): MaybePromise<OutputPage>;
  /** The same as it comes, page after page, from any offset: whoever was cut off goes on where he was. */
  follow(executionId: string, request?: PageRequest): AsyncIterable<OutputPage>;
  /** Paths are relative to the workspace, or absolute below `/workspace`; text is written as UTF-8. */
  writeFile(path: string, content: string | Uint8Array): Promise<{ path: string; size: number }>;
  /** Throws `FILE_NOT_FOUND` or `PATH_OUTSIDE_WORKSPACE`. */
  readFile(path: string): Promise<FileContent>;
  /** The content of a file as it is. */
  readBytes(path: string): Promise<Uint8Array>;
  /** At most 10,000 entries; `truncated` says that there are more. */
  listFiles(path?: string): Promise<{ files: readonly FileEntry[]; truncated?: true }>;
  /** Removes a file, a link itself, or, with `recursive`, a folder with all that is in it. */
  removeFile(path: string, options?: RemoveOptions): Promise<void>;
  /** A folder or a file as a tar archive. Whoever does not read it to its end destroys it. */
  download(path?: string, options?: Omit<TransferOptions, 'onProgress'>): Promise<Readable>;
  /** A folder's content, or a file, into a folder of the host; `skipped` names what did not come along. */
  downloadTo(path: string, hostFolder: string, options?: DownloadOptions): Promise<Transferred>;
  /** Unpacks a tar archive into a folder of the sandbox. */
  upload(path: string, archive: AsyncIterable<Uint8Array>, options?: UploadOptions): Promise<Unpacked>;
  /** A folder's content into a folder of the sandbox, or a file to this path there. */
  uploadFrom(hostPath: string, path?: string, options?: UploadFromOptions): Promise<Transferred>;
  /**
   * Installs one package, by its name and perhaps a version: `requests==2.31.0`, `lodash@4`. While it is installed, and
   * only for that, its registry can be reached. One that fails is a result.
   */
  installPackage(name: string, options?: InstallOptions): Promise<InstallResult>;
  /** Ends every process and removes every trace; safe to call twice. */
  close(): Promise<void>;
}

/** A program that runs beside the executions of its sandbox, until it ends, is ended, or the sandbox ends. */
export interface ProcessHandle {
  /** The execution's id, as in the `meta` of its result. */
  readonly id: string;
  readonly argv: readonly string[];
  /** ISO 8601. */
  readonly startedAt: string;
  /** `running`, or how it ended; `failed` when its isolation did. */
  readonly status: MaybePromise<ProcessStatus>;
  /** A page of what it wrote: of each stream the beginning and the end are kept, and `offset` says what is told. */
  output(request?: PageRequest): MaybePromise<OutputPage>;
  /** Every line that is kept, and those to come until it ends; of a line of more than 8192 characters the beginning. */
  lines(options?: Pick<WaitForLineOptions, 'stream'>): AsyncIterable<OutputLine>;
  /** The same as it comes, page after page, from any offset: whoever was cut off goes on where he was. */
  follow(request?: PageRequest): AsyncIterable<OutputPage>;
  /**
   * Resolves to the first line, from the beginning on, that holds the text or matches the pattern. The lines are
   * the program's: a pattern that takes exponential time on some text (as `(a+)+$` does) can be made to hang.
   * Throws `WAIT_FAILED` when none came in time, or before the process ended.
   */
  waitForLine(pattern: string | RegExp, options?: WaitForLineOptions): Promise<OutputLine>;
  /** Resolves when somebody listens on this port of 127.0.0.1 inside. Throws `WAIT_FAILED`. */
  waitForPort(port: number, options?: WaitOptions): Promise<void>;
  /** Resolves when it has ended, with the outcomes of an execution; rejects only when the isolation failed. */
  wait(): Promise<ExecutionResult>;
  /** Writes to its standard input; only when it was started with `stdin: 'stream'`. */
  write(data: string | Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  /** Sends a signal; without one, ends it: SIGTERM, a second of grace, SIGKILL, and waits for its end. */
  kill(signal?: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): Promise<void>;
}
