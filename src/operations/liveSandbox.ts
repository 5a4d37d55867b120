import type { Readable } from 'node:stream';
import type { InstallResult } from '../result/installResult.ts';
import type { ExecutionResult } from '../result/result.ts';
import type { Enforced, FileEntry, RemoveOptions, Unpacked } from '../runtimes/runtime.ts';
import type { SandboxEnd } from '../sandbox/ended.ts';
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
import { type BackgroundJob, type BackgroundProcess, backgroundProcess } from './backgroundProcess.ts';
import { checkCommand, checkOptions } from './checkOptions.ts';
import { type Context, createContext } from './context.ts';
import { type ContextOptions, openContext, type SandboxContext } from './contexts.ts';
import type { DryRun, DryRunOptions } from './dryRun/dryRun.ts';
import { executeIn, type Opened, openSandbox, type Started, startIn } from './execute.ts';
import { files } from './files.ts';
import type { SandboxOptions } from './getSandbox.ts';
import { type InstallOptions, installPackage } from './installPackage.ts';
import type { Job } from './job.ts';
import { allLanguages, allowedLanguage } from './languages.ts';
import {
  checkCode,
  type ExecOptions,
  type LiveRunOptions,
  type PolicyOptions,
  type StartOptions,
} from './options.ts';
import { type Operate, recorded } from './oversight/sandboxes.ts';

/** How long a sandbox lives, and what holds in it where an execution says nothing else. */
export interface LifeOptions {
  /** The language of `execute` where it names none. */
  readonly language?: string;
  /** Seconds from its making until it expires; `SANDBOX_LIFETIME_SEC` otherwise. */
  readonly lifetime?: number;
  /** Seconds without a call and without a running process until it ends; `SANDBOX_IDLE_TIMEOUT_SEC` otherwise. */
  readonly idleTimeout?: number;
  /** Variables of every program of it; those of an execution win. */
  readonly env?: Readonly<Record<string, string>>;
  /** Lets `forward` open ports of this host's loopback. */
  readonly forwardPorts?: boolean;
  /** Cancels its making. */
  readonly signal?: AbortSignal;
}

export interface CreateSandboxOptions extends SandboxOptions, PolicyOptions, LifeOptions {
  /** Seconds that an execution may take where it names none. */
  readonly timeout?: number;
  /** How much of each stream a result keeps where the execution says nothing: 1 MiB by default. */
  readonly maxOutputKb?: number;
  readonly maxOutputBytes?: number;
}

/**
 * A live sandbox: files last between executions, each execution has a fresh interpreter. Every call throws
 * `SANDBOX_CLOSED`, with the reason, once it has ended.
 */
export interface LiveSandbox extends AsyncDisposable {
  readonly id: string;
  readonly runtime: string;
  readonly enforced: Enforced;
  /** What the caller should know of its making: clamped values, weaker states that were accepted. */
  readonly warnings: readonly string[];
  /** ISO 8601. */
  readonly createdAt: string;
  /** When its lifetime is over, ISO 8601. */
  readonly expiresAt: string;
  /** When something was last called or ended, ISO 8601. */
  readonly lastUsedAt: string;
  /** Whether an execution or a background process runs. */
  readonly running: boolean;
  /** Why and when it ended; undefined as long as it lives. */
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
  start(job: BackgroundJob, options?: StartOptions): Promise<BackgroundProcess>;
  /** The background processes, in the order of their start; of those that have ended the last 20. */
  processes(): readonly BackgroundProcess[];
  /** Starts a language that keeps its state between executions; `language` otherwise is the sandbox's. */
  context(language?: string, options?: ContextOptions): Promise<SandboxContext>;
  /** Opens a port of this host's loopback that leads to one inside. Throws `POLICY_DENIED` without `forwardPorts`. */
  forward(port: number, options?: { readonly hostPort?: number }): Promise<Forwarding>;
  /** A page of the output of one of its executions, also while it runs. */
  output(executionId: string, request?: PageRequest): OutputPage;
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

/** Makes a live sandbox. Whoever makes it closes it, or says `await using`; it expires otherwise. */
export async function createSandbox(options: CreateSandboxOptions = {}): Promise<LiveSandbox> {
  const { runtime, configFile, cwd, gate, ...rest } = options;
  checkOptions('create', rest);
  const context = await createContext({
    ...(runtime === undefined ? {} : { runtime }),
    ...(configFile === undefined ? {} : { configFile }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(gate === undefined ? {} : { gate }),
  });
  return (await openLive(context, rest)).handle;
}

/** A handle, and what a manager needs besides. */
export interface Live {
  readonly handle: LiveSandbox;
  readonly opened: Opened;
  readonly language: string;
}

/** Makes a sandbox and the handle on it; `id` is what it shall be called. */
export async function openLive(
  context: Context,
  { language, ...options }: Omit<CreateSandboxOptions, keyof SandboxOptions> & { readonly id?: string },
): Promise<Live> {
  const chosen = allowedLanguage(context, language ?? 'python');
  const opened = await openSandbox(context, options, allLanguages(context, chosen));
  return { handle: liveSandbox(context, opened, chosen.name), opened, language: chosen.name };
}

function liveSandbox(context: Context, opened: Opened, language: string): LiveSandbox {
  const { sandbox } = opened;
  const operate: Operate = (...operation) => recorded(context, opened, ...operation);
  const close = async (): Promise<void> => {
    await sandbox.close();
    await opened.endRecorded;
  };
  const handles = new WeakMap<Started['background'], BackgroundProcess>();
  return {
    id: sandbox.id,
    runtime: sandbox.runtime,
    enforced: sandbox.enforced,
    warnings: opened.warnings,
    createdAt: sandbox.createdAt.toISOString(),
    expiresAt: sandbox.expiresAt?.toISOString() ?? '',
    get lastUsedAt() {
      return sandbox.lastUsedAt.toISOString();
    },
    get running() {
      return sandbox.running;
    },
    get ended() {
      return sandbox.ended;
    },
    whenEnded: sandbox.whenEnded,
    async execute(code, options = {}) {
      checkOptions('run', options);
      return executeIn(context, opened, { code }, { language, ...options });
    },
    async exec(command, options = {}) {
      checkCommand(command);
      checkOptions('exec', options);
      return executeIn(context, opened, { command }, options);
    },
    async dryRun(job, options = {}) {
      checkOptions('run', options);
      sandbox.assertOpen();
      const { dryRun } = await import('./dryRun/dryRun.ts');
      const chosen = (isCode(job) ? job.language : undefined) ?? language;
      return dryRun(context, opened, jobOf(job), { language: chosen, ...options }, operate);
    },
    async start(job, options = {}) {
      checkOptions('start', options);
      sandbox.assertOpen();
      const started = await startIn(context, opened, jobOf(job), {
        language: (isCode(job) ? job.language : undefined) ?? language,
        ...options,
      });
      const handle = backgroundProcess(sandbox, started, operate);
      handles.set(started.background, handle);
      return handle;
    },
    processes() {
      sandbox.assertOpen();
      return sandbox.processes.flatMap((background) => handles.get(background) ?? []);
    },
    context: (name = language, options = {}) => openContext(context, opened, name, options),
    async forward(port, options = {}) {
      checkOptions('forward', options);
      const wish = () => ({ parameters: { port, host_port: options.hostPort ?? null } });
      return operate('forward_port', wish, () => sandbox.forward(port, options));
    },
    output: (executionId, request) => sandbox.output(executionId, request),
    follow: (executionId, request) => sandbox.follow(executionId, request),
    ...files(sandbox, operate),
    installPackage: (name, options) => installPackage(context, opened, language, name, options),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function isCode(job: BackgroundJob): job is Extract<BackgroundJob, { readonly code: unknown }> {
  return typeof job === 'object' && job !== null && 'code' in job;
}

function jobOf(job: BackgroundJob): Job {
  if (isCode(job)) {
    checkCode(job.code);
    return { code: job.code };
  }
  checkCommand(job);
  return { command: job };
}
