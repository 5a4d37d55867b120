import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { SandboxError } from '../errors.ts';
import type { RegistryName } from '../languages/installers/installer.ts';
import type { InstallResult } from '../result/installResult.ts';
import type { ExecutionResult } from '../result/result.ts';
import type { FileEntry, Runtime } from '../runtimes/runtime.ts';
import { closedError, type EndReason, type SandboxEnd } from '../sandbox/ended.ts';
import type { FileContent } from '../sandbox/sandbox.ts';
import type { WarmPoolState } from '../sandbox/warm/poolState.ts';
import { checkOptions } from './checkOptions.ts';
import { type Context, createContext } from './context.ts';
import { executeOnce } from './execute.ts';
import type { SandboxOptions } from './getSandbox.ts';
import type { InstallOptions } from './installPackage.ts';
import { type LifeOptions, type Live, type LiveSandbox, openLive } from './liveSandbox.ts';
import type { ExecOptions, ExecuteOptions, LiveRunOptions, PolicyOptions } from './options.ts';
import type { SandboxInfo, SandboxService, ServiceSandboxOptions } from './sandboxService.ts';
import type { WarmOptions, Warmth } from './warmth.ts';

export type { SandboxInfo } from './sandboxService.ts';

export interface ManagedSandboxOptions
  extends ServiceSandboxOptions,
    Pick<LifeOptions, 'forwardPorts'>,
    Pick<PolicyOptions, 'onNetwork'> {
  readonly runtime?: string | Runtime;
}

export interface SandboxManagerOptions extends SandboxOptions {
  /** How many sandboxes there may be at a time; `SANDBOX_MAX_SANDBOXES` otherwise. */
  readonly maxSandboxes?: number;
  /** What holds where `createSandbox` says nothing else. */
  readonly defaults?: Omit<ManagedSandboxOptions, 'sandboxId' | 'signal'>;
  /** How sandboxes for single executions are kept ready, or that none are; otherwise as the settings say: they are. */
  readonly warm?: boolean | WarmOptions;
  /** Told when a sandbox was made and when it has ended. */
  readonly onEvent?: (event: ManagerEvent) => void;
}

export type ManagerEvent =
  | { readonly type: 'created'; readonly sandboxId: string; readonly at: string; readonly runtime: string }
  | {
      readonly type: 'ended';
      readonly sandboxId: string;
      readonly at: string;
      readonly reason: EndReason;
      readonly message: string;
    };

/** Why a sandbox ended is remembered of so many. */
const REMEMBERED_ENDS = 1000;

/** Live sandboxes of this process by their ids. Whoever makes one closes it, or says `await using`. */
export class SandboxManager implements SandboxService {
  readonly #options: SandboxManagerOptions;
  readonly #contexts = new Map<string | Runtime | undefined, Promise<Context>>();
  readonly #live = new Map<string, Live>();
  readonly #making = new Map<string, Promise<unknown>>();
  /** Of those that are being made, the ones that have a place. */
  readonly #reserved = new Set<string>();
  readonly #ended = new Map<string, SandboxEnd>();
  readonly #closing = new AbortController();
  readonly #warmed = new WeakMap<Context, Promise<Context>>();
  readonly #executions = new Set<Promise<unknown>>();
  #warmth: Promise<Warmth> | undefined;
  #warmState: (() => WarmPoolState) | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: SandboxManagerOptions = {}) {
    const { defaults = {}, onEvent: _event, ...rest } = options;
    const { runtime: _default, ...checked } = defaults;
    checkOptions('manager', rest);
    checkOptions('managed', checked);
    this.#options = options;
    // Whatever is being made listens.
    setMaxListeners(0, this.#closing.signal);
  }

  /**
   * Makes a sandbox and resolves to its id. Throws `QUOTA_EXCEEDED` when there are as many as there may be, and
   * `INPUT_INVALID` for an id that is taken.
   */
  async createSandbox(options: ManagedSandboxOptions = {}): Promise<string> {
    const { runtime: given, ...checked } = options;
    const { defaults = {} } = this.#options;
    const runtime = given ?? defaults.runtime ?? this.#options.runtime;
    return this.#create(checked, () => this.#context(runtime));
  }

  /**
   * The same with settings of its own, which name its runtime too: for whoever makes sandboxes for callers in
   * different folders.
   * @internal
   */
  async createSandboxWith(
    context: Context,
    options: Omit<ManagedSandboxOptions, 'runtime'> = {},
  ): Promise<string> {
    return this.#create(options, async () => context);
  }

  async #create(
    options: Omit<ManagedSandboxOptions, 'runtime'>,
    context: () => Promise<Context>,
  ): Promise<string> {
    this.#assertOpen();
    checkOptions('managed', options);
    const { defaults = {} } = this.#options;
    const wanted = { ...defaults, ...options, limits: { ...defaults.limits, ...options.limits } };
    const id = options.sandboxId ?? this.#newId();
    if (this.#live.has(id) || this.#making.has(id)) throw taken(id);
    const making = this.#make(id, context, wanted);
    this.#making.set(id, making);
    try {
      await making;
    } finally {
      this.#making.delete(id);
      this.#reserved.delete(id);
    }
    return id;
  }

  /** Runs once in a sandbox of its own, which is gone afterwards; where one is kept ready, it is that. */
  async execute(code: string | Uint8Array, options: ExecuteOptions = {}): Promise<ExecutionResult> {
    this.#assertOpen();
    checkOptions('execute', options);
    const { defaults = {}, runtime } = this.#options;
    const closing = this.#closing.signal;
    const signal = options.signal === undefined ? closing : AbortSignal.any([options.signal, closing]);
    const execution = this.#context(defaults.runtime ?? runtime).then(async (context) =>
      executeOnce(await this.warmed(context), { code }, { ...options, signal }),
    );
    this.#executions.add(execution);
    const over = (): void => void this.#executions.delete(execution);
    execution.then(over, over);
    return execution;
  }

  /**
   * The same settings, with the sandboxes that this manager keeps ready for single executions: all that is executed through
   * one manager shares them.
   * @internal
   */
  warmed(context: Context): Promise<Context> {
    const { warm = context.loaded.settings.warm !== 'off' } = this.#options;
    if (warm === false || this.#closed !== undefined) return Promise.resolve(context);
    const known = this.#warmed.get(context);
    if (known !== undefined) return known;
    const { settings } = context.loaded;
    this.#warmth ??= import('./warmth.ts').then(({ Warmth }) => {
      const warmth = Warmth.open(settings, typeof warm === 'object' ? warm : {});
      this.#warmState = () => warmth.state();
      return warmth;
    });
    const preload = typeof warm === 'object' ? warm.preload : undefined;
    const warmed = this.#warmth.then((warmth) => ({
      ...context,
      warmth: warmth.with(preload ?? settings.warmPreload),
    }));
    this.#warmed.set(context, warmed);
    return warmed;
  }

  /** What is kept ready for single executions at the moment; undefined where nothing was yet. */
  warmState(): WarmPoolState | undefined {
    return this.#warmState?.();
  }

  async executeCode(
    id: string,
    code: string | Uint8Array,
    options?: LiveRunOptions,
  ): Promise<ExecutionResult> {
    return this.get(id).execute(code, options);
  }

  async exec(
    id: string,
    argv: readonly [string, ...string[]],
    options?: ExecOptions,
  ): Promise<ExecutionResult> {
    return this.get(id).exec(argv, options);
  }

  async writeFile(
    id: string,
    path: string,
    content: string | Uint8Array,
  ): Promise<{ path: string; size: number }> {
    return this.get(id).writeFile(path, content);
  }

  async readFile(id: string, path: string): Promise<FileContent> {
    return this.get(id).readFile(path);
  }

  async listFiles(id: string, path?: string): Promise<{ files: readonly FileEntry[] }> {
    return this.get(id).listFiles(path);
  }

  /** Installs one package from `pypi` or `npm`; without a registry from that of the sandbox's language. */
  async installPackage(
    id: string,
    name: string,
    registry?: RegistryName,
    options?: Omit<InstallOptions, 'registry'>,
  ): Promise<InstallResult> {
    return this.get(id).installPackage(name, { ...options, ...(registry === undefined ? {} : { registry }) });
  }

  /**
   * The handle on a sandbox. Throws `SANDBOX_NOT_FOUND` for an id that is not known or that was destroyed, and
   * `SANDBOX_CLOSED` with the reason for one that has ended otherwise.
   */
  get(id: string): LiveSandbox {
    const live = this.#live.get(id);
    if (live !== undefined) return live.handle;
    const end = this.#ended.get(id);
    if (end !== undefined && end.reason !== 'closed') throw closedError(id, end);
    this.#assertOpen();
    throw notFound(id, end);
  }

  /** Those that live. */
  list(): readonly SandboxInfo[] {
    return [...this.#live.values()]
      .filter(({ handle }) => handle.ended === undefined)
      .map(({ handle, language }) => ({
        id: handle.id,
        runtime: handle.runtime,
        language,
        createdAt: handle.createdAt,
        expiresAt: handle.expiresAt,
        lastUsedAt: handle.lastUsedAt,
        running: handle.running,
      }));
  }

  /** Ends it and removes every trace. Throws `SANDBOX_NOT_FOUND`; one that has ended is what was asked for. */
  async destroySandbox(id: string): Promise<void> {
    const live = this.#live.get(id);
    if (live === undefined) {
      if (!this.#ended.has(id)) throw notFound(id);
      return;
    }
    await live.handle.close();
    // Then its id is free again, too.
    await live.handle.whenEnded;
  }

  /** Ends all of them, those that are being made too; every later call is refused. Safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closing.abort(managerClosed());
    await Promise.allSettled(this.#making.values());
    const closings = [...this.#live.values()].map(async ({ opened: { sandbox, endRecorded } }) => {
      await sandbox.close('manager_closed');
      await endRecorded;
    });
    const results = await Promise.allSettled(closings);
    await Promise.allSettled(this.#executions);
    await (await this.#warmth)?.close();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #make(
    id: string,
    settings: () => Promise<Context>,
    { sandboxId: _id, runtime: _runtime, limits = {}, signal, ...options }: ManagedSandboxOptions,
  ): Promise<void> {
    const context = await settings();
    this.#reserve(id, context);
    const { memoryMb, cpu, diskMb, processes, timeoutSec, maxOutputBytes } = limits;
    const closing = this.#closing.signal;
    const live = await openLive(context, {
      ...options,
      id,
      signal: signal === undefined ? closing : AbortSignal.any([signal, closing]),
      ...(memoryMb === undefined ? {} : { memoryMb }),
      ...(cpu === undefined ? {} : { cpu }),
      ...(diskMb === undefined ? {} : { diskMb }),
      ...(processes === undefined ? {} : { maxProcesses: processes }),
      ...(timeoutSec === undefined ? {} : { timeout: timeoutSec }),
      ...(maxOutputBytes === undefined ? {} : { maxOutputBytes }),
    }).catch((error: unknown) => {
      // However a driver puts it that it was told to stop.
      throw closing.aborted ? managerClosed() : error;
    });
    if (closing.aborted || signal?.aborted) {
      await live.handle.close();
      throw closing.aborted ? managerClosed() : signal?.reason;
    }
    this.#keep(id, live);
  }

  #keep(id: string, live: Live): void {
    this.#live.set(id, live);
    this.#reserved.delete(id);
    this.#ended.delete(id);
    const { runtime, createdAt, whenEnded } = live.handle;
    this.#tell({ type: 'created', sandboxId: id, at: createdAt, runtime });
    void whenEnded.then((end) => {
      this.#live.delete(id);
      this.#ended.set(id, end);
      for (const oldest of this.#ended.keys()) {
        if (this.#ended.size <= REMEMBERED_ENDS) break;
        this.#ended.delete(oldest);
      }
      this.#tell({ type: 'ended', sandboxId: id, at: end.at, reason: end.reason, message: end.message });
    });
  }

  /** Settings are read once for each runtime, and kept. */
  #context(runtime: string | Runtime | undefined): Promise<Context> {
    const known = this.#contexts.get(runtime);
    if (known !== undefined) return known;
    const { configFile, cwd, gate } = this.#options;
    const context = createContext({
      ...(runtime === undefined ? {} : { runtime }),
      ...(configFile === undefined ? {} : { configFile }),
      ...(cwd === undefined ? {} : { cwd }),
      ...(gate === undefined ? {} : { gate }),
    });
    this.#contexts.set(runtime, context);
    // One that could not be read is read again the next time.
    context.catch(() => this.#contexts.delete(runtime));
    return context;
  }

  #reserve(id: string, { loaded }: Context): void {
    const max = this.#options.maxSandboxes ?? loaded.settings.maxSandboxes;
    const count = this.#live.size + this.#reserved.size;
    if (count < max) {
      this.#reserved.add(id);
      return;
    }
    throw new SandboxError(
      'QUOTA_EXCEEDED',
      `There are ${count} sandboxes; ${max} is the most there may be.`,
      {
        hint: 'Destroy one first, or allow more with maxSandboxes (SANDBOX_MAX_SANDBOXES).',
        details: { sandboxes: count, max },
      },
    );
  }

  #newId(): string {
    return randomBytes(6).toString('hex');
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw managerClosed();
  }

  /** What a listener throws is its own affair: it must not keep a sandbox from being made or ended. */
  #tell(event: ManagerEvent): void {
    try {
      this.#options.onEvent?.(event);
    } catch (error) {
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  }
}

function taken(id: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `There is a sandbox called ${id} already.`, {
    hint: 'Take another id, or none.',
    details: { sandboxId: id },
  });
}

function notFound(id: unknown, end?: SandboxEnd): SandboxError {
  const shown = String(id).slice(0, 100);
  const since = end === undefined ? '' : ' any more: it was destroyed';
  return new SandboxError('SANDBOX_NOT_FOUND', `There is no sandbox ${JSON.stringify(shown)}${since}.`, {
    hint: 'Take an id that createSandbox resolved to; list() names those that live.',
    details: { sandboxId: shown },
  });
}

function managerClosed(): SandboxError {
  return new SandboxError('SANDBOX_CLOSED', 'The manager has been closed, and its sandboxes with it.', {
    hint: 'Make a new manager.',
    details: { reason: 'manager_closed' },
  });
}
