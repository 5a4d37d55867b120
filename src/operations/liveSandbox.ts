import type { OutputPage, PageRequest } from '../sandbox/outputPage.ts';
import { type BackgroundJob, type BackgroundProcess, backgroundProcess } from './backgroundProcess.ts';
import { checkCommand, checkOptions } from './checkOptions.ts';
import { type Context, createContext } from './context.ts';
import { openContext } from './contexts.ts';
import { executeIn, type Opened, openSandbox, type Started, startIn } from './execute.ts';
import { files } from './files.ts';
import type { SandboxOptions } from './getSandbox.ts';
import { installPackage } from './installPackage.ts';
import { jobOf, languageOf } from './jobOf.ts';
import { allLanguages, allowedLanguage } from './languages.ts';
import type { PolicyOptions, StartOptions } from './options.ts';
import { type Operate, recorded } from './oversight/sandboxes.ts';
import type { SandboxHandle } from './sandboxService.ts';

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

/** A live sandbox of this process: what is known of it is at hand. */
export interface LiveSandbox extends SandboxHandle {
  /** When something was last called or ended, ISO 8601. */
  readonly lastUsedAt: string;
  /** Whether an execution or a background process runs. */
  readonly running: boolean;
  start(job: BackgroundJob, options?: StartOptions): Promise<BackgroundProcess>;
  processes(): readonly BackgroundProcess[];
  output(executionId: string, request?: PageRequest): OutputPage;
}

/** Makes a live sandbox. Whoever makes it closes it, or says `await using`; it expires otherwise. */
export async function createSandbox(options: CreateSandboxOptions = {}): Promise<LiveSandbox> {
  const { runtime, configFile, cwd, gate, ...rest } = options;
  checkOptions('create', options);
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
      return dryRun(context, opened, jobOf(job), { language, ...languageOf(job), ...options }, operate);
    },
    async start(job, options = {}) {
      checkOptions('start', options);
      sandbox.assertOpen();
      const started = await startIn(context, opened, jobOf(job), {
        language,
        ...languageOf(job),
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
