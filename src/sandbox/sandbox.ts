import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { DecisionListeners } from '../egress/decision.ts';
import { isSandboxError } from '../errors.ts';
import type { Language } from '../languages/language.ts';
import type { NetworkMode, Policy } from '../policy/policy.ts';
import type { OnOutput } from '../result/output.ts';
import type { Choice } from '../runtimes/choose.ts';
import { assertHeld } from '../runtimes/enforceable.ts';
import type {
  Enforced,
  FileEntry,
  Guest,
  RemoveOptions,
  Root,
  SandboxSpec,
  Unpacked,
  WarmedBy,
} from '../runtimes/runtime.ts';
import type { Background } from './background.ts';
import { type CellOutcome, type CellRequest, type ContextOptions, LanguageContext } from './context.ts';
import { closedError, type EndReason, type SandboxEnd } from './ended.ts';
import { type Installed, type InstallWish, installPackage, notInstalled } from './installPackage.ts';
import { KeptOutput } from './keptOutput.ts';
import { Life, type LifeSpan } from './life.ts';
import type { OutputPage, PageRequest } from './outputPage.ts';
import type { Forwarding } from './ports.ts';
import { Processes } from './processes.ts';
import type { BackgroundProgram, Program, ProgramOutcome } from './program.ts';
import { Programs } from './programs.ts';
import { notStarted } from './run.ts';
import { SandboxNetwork } from './sandboxNetwork.ts';
import { SandboxPorts } from './sandboxPorts.ts';
import {
  type DownloadOptions,
  type TransferOptions,
  type Transferred,
  Transfers,
  type UploadFromOptions,
  type UploadOptions,
} from './transfer.ts';
import { Turns } from './turns.ts';
import { within } from './within.ts';

/** The content of a file as text where it is UTF-8, and as base64 where it is not. */
export interface FileContent {
  readonly content: string;
  readonly encoding: 'utf8' | 'base64';
  /** In bytes. */
  readonly size: number;
}

type Chosen = Pick<Choice, 'runtime' | 'version' | 'capabilities' | 'fallbackFrom'>;

/** How many entries a listing holds at most; a program can make millions. */
const MAX_ENTRIES = 10_000;

/** What is handed out of a workspace at once: as base64 text it must still fit into one string. */
const MAX_FILE_MB = 256;

/** What a sandbox may be made with besides its policy. */
export interface SandboxUse extends Pick<SandboxSpec, 'singleUse'>, LifeSpan, DecisionListeners {
  /** What it is called above the driver; an id of its own otherwise. */
  readonly id?: string;
  /** Whether ports inside may be reached from this host. */
  readonly forwardPorts?: boolean;
  /** How much of its executions' output is kept to be paged; none where it is absent. */
  readonly keptOutputMb?: number;
}

/** How long what runs may take to end when the sandbox's time is over, before all of it is ended for good. */
const LEAVE_MS = 3000;

/** One live isolated place with a workspace. Files last between executions; each gets a fresh interpreter. */
export class Sandbox {
  readonly id: string;
  readonly runtime: string;
  readonly runtimeVersion: string;
  /** The name of the runtime that was wanted, where this one is a fallback. */
  readonly fallbackFrom: string | undefined;
  readonly policy: Policy;
  /** Settles when it has ended and nothing of it is left; never rejects. */
  readonly whenEnded: Promise<SandboxEnd>;
  /** The kinds of network that its runtime holds. */
  readonly networks: readonly NetworkMode[];
  readonly #guest: Guest;
  readonly #use: SandboxUse;
  readonly #life: Life;
  readonly #turns = new Turns();
  readonly #kept: KeptOutput | undefined;
  readonly #timeOver = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  readonly #processes = new Processes();
  readonly #adopted = new Set<Sandbox>();
  readonly #programs: Programs;
  readonly #ports: SandboxPorts;
  readonly #maxFileBytes: number;
  readonly #network: SandboxNetwork | undefined;
  readonly #transfers: Transfers;
  #tellEnded: (end: SandboxEnd) => void = () => {};
  #ended: SandboxEnd | undefined;
  #gone: Promise<void> | undefined;

  private constructor(
    id: string,
    choice: Chosen,
    policy: Policy,
    guest: Guest,
    { network, ...use }: SandboxUse & { readonly network: SandboxNetwork | undefined },
  ) {
    this.id = id;
    this.runtime = choice.runtime.name;
    this.runtimeVersion = choice.version;
    this.fallbackFrom = choice.fallbackFrom;
    this.policy = policy;
    this.networks = choice.capabilities.network;
    this.#guest = guest;
    this.#use = use;
    this.#network = network;
    this.#transfers = new Transfers(guest, policy.limits.diskMb.value * 1024 * 1024);
    this.#maxFileBytes = Math.min(policy.limits.diskMb.value, MAX_FILE_MB) * 1024 * 1024;
    this.#kept = use.keptOutputMb === undefined ? undefined : new KeptOutput(use.keptOutputMb * 1024 ** 2);
    this.#programs = new Programs({
      ...{ guest, policy, network, kept: this.#kept },
      ...{ lifetime: this.#timeOver.signal, maxFileBytes: this.#maxFileBytes },
    });
    this.#ports = new SandboxPorts({
      ...{ enforced: guest.enforced, mayForward: use.forwardPorts === true },
      ...{ processes: () => this.processes, using: () => this.#life.begin() },
    });
    this.whenEnded = new Promise((resolve) => {
      this.#tellEnded = resolve;
    });
    this.#life = new Life(use, (reason) => {
      // Whoever closes it later is told when something of it could not be removed.
      this.#end(reason, OVER[reason](use)).catch(() => {});
    });
    guest.lost?.then(
      (reason) => this.#crash(reason),
      () => {},
    );
  }

  /** Makes one, and refuses it when it turns out to be held by less than the policy asks for. */
  static async create(
    choice: Chosen,
    policy: Policy,
    languages: readonly Language[],
    signal?: AbortSignal,
    use: SandboxUse = {},
  ): Promise<Sandbox> {
    const id = randomBytes(6).toString('hex');
    const network = await SandboxNetwork.for(policy, use);
    const spec: SandboxSpec = {
      id,
      policy,
      languages: languages.map(({ name }) => name),
      ...(use.singleUse === undefined ? {} : { singleUse: use.singleUse }),
      ...(network === undefined ? {} : { relay: network.relay }),
    };
    const guest = await choice.runtime.create(spec, signal);
    try {
      assertHeld(choice.runtime.name, guest.enforced, policy);
    } catch (error) {
      await guest.destroy();
      throw error;
    }
    return new Sandbox(use.id ?? id, choice, policy, guest, { ...use, network });
  }

  /**
   * Takes a guest that was made before, with this policy and no relay; refuses it as `create` does. Whoever gave it ends
   * it then.
   */
  static around(
    choice: Chosen,
    policy: Policy,
    { id, guest }: { readonly id: string; readonly guest: Guest },
    use: SandboxUse,
  ): Sandbox {
    assertHeld(choice.runtime.name, guest.enforced, policy);
    return new Sandbox(use.id ?? id, choice, policy, guest, { ...use, network: undefined });
  }

  get enforced(): Enforced {
    return this.#guest.enforced;
  }

  /** Whose files its programs find as their system. */
  get root(): Root | undefined {
    return this.#guest.root;
  }

  /** How its interpreter came to wait; absent where it starts with the program. */
  get warmedBy(): WarmedBy | undefined {
    return this.#guest.warmedBy;
  }

  /** Whether a program was ever started in it. */
  get hasStarted(): boolean {
    return this.#programs.hasStarted;
  }

  get createdAt(): Date {
    return this.#life.createdAt;
  }

  /** Absent where it has no end of its own. */
  get expiresAt(): Date | undefined {
    return this.#life.expiresAt;
  }

  get lastUsedAt(): Date {
    return this.#life.lastUsedAt;
  }

  /** Why and when it ended; undefined as long as it lives. */
  get ended(): SandboxEnd | undefined {
    return this.#ended;
  }

  /** Whether an execution or a background process runs. */
  get running(): boolean {
    return this.#running.size > 0;
  }

  /** Background processes, in the order of their start; of those that have ended only the last ones. */
  get processes(): readonly Background[] {
    return this.#processes.all;
  }

  /** Runs one program; programs of one sandbox run one after another, in the order of the calls. */
  run(program: Program): Promise<ProgramOutcome> {
    return this.use(() => this.#turns.take(() => this.#run(program), program.signal, notStarted));
  }

  /** Starts one that runs beside the others, until it ends, is ended, or the sandbox ends. */
  start(id: string, program: BackgroundProgram): Promise<Background> {
    return this.use(() => this.#start(id, program));
  }

  /** Starts a language that keeps its state; it runs beside the programs, and ends with the sandbox. */
  async context(options: ContextOptions): Promise<LanguageContext> {
    const env = { ...(await this.#programs.environment()), ...options.env };
    const limits = { timeoutSec: Number.POSITIVE_INFINITY, ...options.limits };
    return this.use((guest) => LanguageContext.create(guest, { ...options, env, limits }));
  }

  /** Runs one cell of a context; its output is kept under the id of the execution. */
  async runCell(
    context: LanguageContext,
    executionId: string,
    request: CellRequest,
  ): Promise<CellOutcome & Pick<ProgramOutcome, 'network'>> {
    const recording = this.#network?.record();
    const record = this.#kept?.open(executionId);
    const onOutput: OnOutput = (chunk) => {
      record?.push(chunk.stream, chunk.bytes);
      return request.onOutput?.(chunk);
    };
    try {
      const outcome = await this.use(() => this.#track(context.execute({ ...request, onOutput })));
      const network = await recording?.stop(0);
      return { ...outcome, ...(network === undefined ? {} : { network }) };
    } finally {
      record?.end();
      void recording?.stop(0);
    }
  }

  /** A page of an execution's output. Throws `INPUT_INVALID` for an execution that is not known. */
  output(executionId: string, request?: PageRequest): OutputPage {
    this.assertOpen();
    return this.#keptOutput().page(executionId, request);
  }

  /** Pages of an execution's output as it comes, until the execution has ended. */
  async *follow(executionId: string, request?: PageRequest): AsyncGenerator<OutputPage> {
    this.assertOpen();
    try {
      yield* this.#keptOutput().follow(executionId, request);
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** Lets another one end with this one, before it and for the same reason. */
  adopt(other: Sandbox): void {
    this.#adopted.add(other);
    void other.whenEnded.then(() => this.#adopted.delete(other));
    if (this.#ended !== undefined) other.#end(this.#ended.reason, this.#ended.message).catch(() => {});
  }

  /** Does something on its behalf elsewhere: counted as use, and as running, until it is over. */
  beside<T>(operation: () => Promise<T>): Promise<T> {
    return this.use(() => this.#track(operation()));
  }

  /** Does something with the guest in the same queue as the programs: none of them runs meanwhile. */
  exclusively<T>(operation: (guest: Guest) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const turn = (guest: Guest) => async (): Promise<T> => {
      this.assertOpen();
      return operation(guest);
    };
    return this.use((guest) => this.#turns.take(turn(guest), signal, () => Promise.reject(signal?.reason)));
  }

  /** Installs one package, in the same queue as the programs: they see it either not at all or whole. */
  install(wish: InstallWish): Promise<Installed> {
    return this.use(() => this.#turns.take(() => this.#install(wish), wish.signal, notInstalled));
  }

  /** Text is written as UTF-8. Paths are relative to the workspace, or absolute below `/workspace`. */
  async writeFile(path: string, content: string | Uint8Array): Promise<{ path: string; size: number }> {
    const data = typeof content === 'string' ? Buffer.from(content) : content;
    await this.use((guest) => guest.writeFile(path, data));
    return { path, size: data.byteLength };
  }

  async readFile(path: string): Promise<FileContent> {
    const data = Buffer.from(await this.use((guest) => guest.readFile(path, this.#maxFileBytes)));
    const text = data.toString('utf8');
    return Buffer.from(text).equals(data)
      ? { content: text, encoding: 'utf8', size: data.length }
      : { content: data.toString('base64'), encoding: 'base64', size: data.length };
  }

  /** The content of a file as it is. */
  async readBytes(path: string): Promise<Uint8Array> {
    return this.use((guest) => guest.readFile(path, this.#maxFileBytes));
  }

  /** At most 10,000 entries; `truncated` says that there are more. */
  async listFiles(path = '.'): Promise<{ files: readonly FileEntry[]; truncated?: true }> {
    const files = await this.use((guest) => guest.listFiles(path, MAX_ENTRIES + 1));
    return files.length <= MAX_ENTRIES ? { files } : { files: files.slice(0, MAX_ENTRIES), truncated: true };
  }

  /** Removes a file, a link itself, or, with `recursive`, a folder with all that is in it. */
  async removeFile(path: string, options: RemoveOptions = {}): Promise<void> {
    await this.use((guest) => guest.removeFile(path, options));
  }

  /** A folder or a file as a tar archive. */
  async download(path = '.', options?: Omit<TransferOptions, 'onProgress'>): Promise<Readable> {
    return this.use(() => this.#transfers.download(path, options));
  }

  /** A folder's content, or a file, into a folder of the host; `skipped` names what did not come along. */
  async downloadTo(path: string, hostFolder: string, options?: DownloadOptions): Promise<Transferred> {
    return this.use(() => this.#transfers.downloadTo(path, hostFolder, options));
  }

  /** Unpacks a tar archive into a folder of the sandbox. */
  async upload(path: string, archive: AsyncIterable<Uint8Array>, options?: UploadOptions): Promise<Unpacked> {
    return this.use(() => this.#transfers.upload(path, archive, options));
  }

  /** A folder's content into a folder of the sandbox, or a file to this path there. */
  async uploadFrom(hostPath: string, path = '.', options?: UploadFromOptions): Promise<Transferred> {
    return this.use(() => this.#transfers.uploadFrom(hostPath, path, options));
  }

  /** Throws `WAIT_FAILED` when nobody listens on the port in time. */
  async waitForPort(background: Background, port: number, timeoutSec: number): Promise<void> {
    await this.use(() => this.#ports.waitFor(background, port, timeoutSec));
  }

  /** Throws `POLICY_DENIED` where the sandbox was not made for it. */
  async forward(port: number, options: { readonly hostPort?: number } = {}): Promise<Forwarding> {
    this.assertOpen();
    const forwarding = await this.#ports.forward(port, options);
    if (this.#ended !== undefined) await forwarding.close();
    this.assertOpen();
    return forwarding;
  }

  /** Ends every process and removes every trace; safe to call twice. */
  close(reason: 'closed' | 'manager_closed' = 'closed'): Promise<void> {
    const message = reason === 'closed' ? 'It was closed.' : 'The manager that made it was closed.';
    return this.#end(reason, message);
  }

  /** Throws `SANDBOX_CLOSED`, with the reason, once it has ended. */
  assertOpen(): void {
    if (this.#ended !== undefined) throw closedError(this.id, this.#ended);
  }

  /**
   * Does something with the guest, as every operation on it is done: not after its end, counted as use, and
   * with the reason in the error when it ends meanwhile.
   */
  async use<T>(operation: (guest: Guest) => Promise<T>): Promise<T> {
    this.assertOpen();
    const over = this.#life.begin();
    try {
      return await operation(this.#guest);
    } catch (error) {
      await this.#lookAfter(error);
      throw this.#explain(error);
    } finally {
      over();
    }
  }

  async #run(program: Program): Promise<ProgramOutcome> {
    this.assertOpen();
    return this.#track(this.#programs.run(program));
  }

  async #start(id: string, program: BackgroundProgram): Promise<Background> {
    this.#processes.makeRoom();
    const background = await this.#programs.start(id, program);
    const over = this.#life.begin();
    this.#processes.add(background);
    this.#track(background.outcome).then(over, over);
    return background;
  }

  async #install(wish: InstallWish): Promise<Installed> {
    this.assertOpen();
    const record = this.#kept?.open(wish.executionId);
    wish.onStart?.();
    try {
      return await this.#track(
        installPackage(this.#guest, {
          ...wish,
          lifetime: this.#timeOver.signal,
          listeners: this.#use,
          ...(record === undefined ? {} : { keep: record.push }),
        }),
      );
    } finally {
      record?.end();
    }
  }

  /** Counts what runs until it has ended. */
  #track<T>(outcome: Promise<T>): Promise<T> {
    this.#running.add(outcome);
    const done = (): void => void this.#running.delete(outcome);
    outcome.then(done, done);
    return outcome;
  }

  #keptOutput(): KeptOutput {
    if (this.#kept !== undefined) return this.#kept;
    throw new Error('a sandbox for one program keeps no output');
  }

  #end(reason: EndReason, message: string): Promise<void> {
    if (this.#gone !== undefined) return this.#gone;
    const end: SandboxEnd = { reason, at: new Date().toISOString(), message };
    this.#ended = end;
    this.#life.stop();
    this.#gone = this.#leave(end);
    const told = (): void => this.#tellEnded(end);
    this.#gone.then(told, told);
    return this.#gone;
  }

  async #leave({ reason, message }: SandboxEnd): Promise<void> {
    const ports = this.#ports.close();
    const adopted = Promise.allSettled([...this.#adopted].map((other) => other.#end(reason, message)));
    if (reason === 'expired' && this.#running.size > 0) {
      this.#timeOver.abort();
      await within(LEAVE_MS, Promise.allSettled(this.#running));
    }
    try {
      await adopted;
      await this.#network?.close();
      await this.#guest.destroy();
    } finally {
      this.#kept?.close();
      await ports;
    }
  }

  #crash(reason: string): void {
    this.#end('crashed', `It crashed: ${reason}`).catch(() => {});
  }

  /** When the isolation failed, the sandbox lives on as long as its files are there. */
  async #lookAfter(error: unknown): Promise<void> {
    if (this.#ended !== undefined || this.#use.singleUse) return;
    if (!isSandboxError(error) || error.code !== 'SANDBOX_FAILED') return;
    try {
      await this.#guest.listFiles('.', 1);
    } catch (failure) {
      if (isSandboxError(failure) && failure.code === 'SANDBOX_FAILED') this.#crash(error.message);
    }
  }

  /** What failed because the sandbox had ended meanwhile is told as that. */
  #explain(error: unknown): unknown {
    if (this.#ended === undefined) return error;
    const ours =
      isSandboxError(error) && !['SANDBOX_CLOSED', 'SANDBOX_FAILED', 'INPUT_INVALID'].includes(error.code);
    return ours ? error : closedError(this.id, this.#ended, error);
  }
}

const OVER: Readonly<Record<'expired' | 'idle', (span: LifeSpan) => string>> = {
  expired: ({ lifetimeSec }) => `Its lifetime of ${lifetimeSec} s was over.`,
  idle: ({ idleSec }) => `Nobody used it for ${idleSec} s.`,
};
