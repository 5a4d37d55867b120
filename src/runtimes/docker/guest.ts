import { SandboxError } from '../../errors.ts';
import type { LanguageName } from '../../languages/language.ts';
import { HostGuest } from '../host/hostGuest.ts';
import { initArguments } from '../host/init/init.ts';
import { assertFits } from '../host/launch.ts';
import { PendingFiles } from '../host/pendingFiles.ts';
import {
  type PreparedInterpreter,
  prepareInterpreter,
  programArguments,
  suitsWaiting,
  usedTwice,
  wishedWaiting,
} from '../host/waitingInterpreter.ts';
import type {
  Command,
  Enforced,
  Guest,
  GuestProcess,
  ProgramLimits,
  Relay,
  Root,
  WarmedBy,
  WarmWish,
} from '../runtime.ts';
import { type FirstOrders, writeOrders } from './bootstrap.ts';
import { initFor } from './connect.ts';
import { assertFitsProcesses, diskShares, limitsInShell, tightened, WRITABLE } from './container.ts';
import { type ContainerState, removeVolume } from './containers.ts';
import { readEnforced } from './enforced.ts';
import { interpreterIn } from './image.ts';
import type { Keeper } from './keeper.ts';
import { containerFailed, type ProgramContainer } from './program.ts';
import {
  type DockerParts,
  makeVolumes,
  type ProgramWish,
  sharesNetworks,
  startKeeper,
  startProgram,
  type Volumes,
} from './start.ts';

/** Variables that engines add to every container. */
const OF_THE_ENGINE = ['HOSTNAME', 'TERM', 'container', 'TINI_KILL_PROCESS_GROUP'];

/** A sandbox of containers: each program gets one of its own. */
export class DockerGuest extends HostGuest {
  readonly workspace = WRITABLE.workspace;
  override readonly root: Root;
  readonly environment: Readonly<Record<string, string>>;
  readonly enforced: Enforced;
  override readonly sharesLoopback: boolean;
  readonly lost?: Promise<string>;
  warmedBy?: WarmedBy;
  readonly #parts: DockerParts;
  readonly #files: Files;
  readonly #containers = new Set<ProgramContainer>();
  #first: ProgramContainer | undefined;
  #prepared: PreparedInterpreter | undefined;
  #count = 0;

  private constructor(
    parts: DockerParts,
    files: Files,
    first: ProgramContainer | undefined,
    state: ContainerState,
  ) {
    super(files.operations);
    this.#parts = parts;
    this.root = { kind: 'image', name: parts.image.name, id: parts.image.id };
    this.#files = files;
    if (files.kind === 'kept') this.lost = files.operations.lost;
    this.#first = first;
    if (first !== undefined) this.#containers.add(first);
    this.sharesLoopback = files.kind === 'kept' && sharesNetworks(parts);
    this.environment = {
      PATH: parts.image.searchPath,
      HOME: this.workspace,
      PWD: this.workspace,
      LANG: 'C.UTF-8',
      TMPDIR: WRITABLE.tmp,
    };
    this.enforced = readEnforced(parts, state);
  }

  static async create(parts: DockerParts): Promise<DockerGuest> {
    const { connection, spec } = parts;
    if (spec.singleUse) {
      const pending = new PendingFiles(diskShares(spec.policy.limits.diskMb.value).workspace);
      const files: Files = { kind: 'pending', operations: pending };
      const warm = wishedWaiting(spec, parts.content.interpreters.has('python') ? ['python'] : []);
      const init = warm && initFor(connection);
      const first = await startProgram(parts, undefined, 0, {
        relay: spec.relay,
        ...(init === undefined ? {} : { init }),
      });
      try {
        const guest = new DockerGuest(parts, files, first, await first.inspect());
        if (warm !== undefined && init !== undefined) await guest.#warmUp(first, warm, init);
        return guest;
      } catch (error) {
        await first.remove();
        throw containerFailed(error);
      }
    }
    const volumes = await makeVolumes(parts);
    try {
      const keeper = await startKeeper(parts, volumes);
      try {
        const state = await keeper.inspect();
        return new DockerGuest(parts, { kind: 'kept', operations: keeper, volumes }, undefined, state);
      } catch (error) {
        await keeper.end();
        throw containerFailed(error);
      }
    } catch (error) {
      for (const volume of Object.values(volumes))
        await removeVolume(connection.engine, volume).catch(() => {});
      throw error;
    }
  }

  async interpreter(language: LanguageName): ReturnType<Guest['interpreter']> {
    const { image, content } = this.#parts;
    return interpreterIn(image, content, language);
  }

  protected async start(command: Command): Promise<GuestProcess> {
    assertFits(command.argv, command.env);
    assertHolds(this.#parts, command.limits);
    const waiting = suitsWaiting(command, this.#parts.spec) ? this.#prepared : undefined;
    const told = waiting && this.#ordersFor(waiting, command);
    const container = await this.#takeContainer(command, waiting !== undefined);
    try {
      const program = told
        ? container.become(told, command.stdin)
        : await container.give(
            this.#orders(command, this.#pending, { pipes: this.#parts.connection.ownKernel }),
            command.stdin,
          );
      const gone = program.exit.finally(() => this.#putAway(container));
      // Whoever spawned it looks at how it ended.
      gone.catch(() => {});
      const relay = container.relay ?? this.#sharedRelay;
      return { ...program, ...(relay === undefined ? {} : { relay }) };
    } catch (error) {
      await container.remove();
      this.#containers.delete(container);
      throw error;
    }
  }

  async #warmUp(container: ProgramContainer, warm: WarmWish, program: Uint8Array): Promise<void> {
    const prepared = await prepareInterpreter(this, warm);
    const { argv, env, code = '', file } = prepared;
    const first = { program, arguments: initArguments({ frames: true }) };
    const files = new Map([[file, Buffer.from(code)]]);
    await container.warmUp(this.#orders({ argv, env }, files, { pipes: false, first }));
    this.#prepared = prepared;
    this.warmedBy = 'waiting_interpreter';
  }

  #ordersFor(prepared: PreparedInterpreter, command: Command): Buffer {
    const files = [...this.#pending].map(
      ([path, content]) => [`${this.workspace}/${path}`, content] as const,
    );
    const orders = prepared.encode({
      argv: programArguments(command, prepared),
      env: command.env,
      // A pipe is there in any case, as in a container that was not warmed.
      stdin: true,
      files: files.map(([path, { byteLength }]) => [path, byteLength]),
    });
    return Buffer.concat([orders, ...files.map(([, content]) => content)]);
  }

  get #pending(): ReadonlyMap<string, Uint8Array> {
    return this.#files.kind === 'pending' ? this.#files.operations.all : new Map();
  }

  #orders(
    { argv, env, limits }: Command,
    files: ReadonlyMap<string, Uint8Array>,
    how: Pick<FirstOrders, 'pipes' | 'first'>,
  ): Buffer {
    const { container, image, spec } = this.#parts;
    return writeOrders({
      files,
      unset: [...OF_THE_ENGINE, ...image.variables.filter((name) => name !== 'PATH')],
      environment: env,
      argv,
      limits: limitsInShell({ ...container, policy: tightened(spec.policy, limits) }),
      ...how,
    });
  }

  /** It has ended, and nobody waits until its remains are taken away; `release` does. */
  async #putAway(container: ProgramContainer): Promise<void> {
    await container.remove();
    this.#containers.delete(container);
  }

  async #takeContainer(command: Command, isWaiting: boolean): Promise<ProgramContainer> {
    const first = this.#first;
    this.#first = undefined;
    const { limits, relay } = command;
    const fits = this.#prepared === undefined ? limits === undefined && relay === undefined : isWaiting;
    if (first !== undefined && fits) return first;
    if (first !== undefined) await this.#putAway(first);
    else if (this.#files.kind === 'pending') {
      throw usedTwice();
    }
    this.#count++;
    const files = this.#files;
    const volumes = files.kind === 'kept' ? files.volumes : undefined;
    const wish = { limits, ...this.#networkFor(command) };
    const container = await startProgram(this.#parts, volumes, this.#count, wish);
    this.#containers.add(container);
    return container;
  }

  /** The sandbox's own, or one with a relay of its own where it is shared with nobody. */
  #networkFor({ relay }: Command): Pick<ProgramWish, 'joins' | 'relay' | 'alone'> {
    if (relay !== undefined) return { relay, alone: true };
    if (this.sharesLoopback && this.#files.kind === 'kept') return { joins: this.#files.operations.id };
    return { relay: this.#parts.spec.relay };
  }

  get #sharedRelay(): Relay | undefined {
    return this.#files.kind === 'kept' ? this.#files.operations.relay : undefined;
  }

  protected async release(): Promise<void> {
    const { engine } = this.#parts.connection;
    const files = this.#files;
    const endings = [...this.#containers].map((container) => container.remove());
    if (files.kind === 'kept') endings.push(files.operations.end());
    const results = await Promise.allSettled(endings);
    if (files.kind === 'kept') {
      results.push(
        ...(await Promise.allSettled(Object.values(files.volumes).map((name) => removeVolume(engine, name)))),
      );
    }
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw containerFailed(failed.reason);
  }
}

/** Throws `POLICY_NOT_ENFORCEABLE` for limits of one program that its container could not be held to. */
function assertHolds({ capabilities }: DockerParts, limits: ProgramLimits = {}): void {
  const unheld = (['memoryMb', 'processes'] as const).filter(
    (name) => limits[name] !== undefined && capabilities.limits[name] === 'none',
  );
  if (unheld.length > 0) {
    throw new SandboxError(
      'POLICY_NOT_ENFORCEABLE',
      `This engine cannot hold a program to its own limit of ${unheld.join(' and ')}.`,
      { hint: 'Leave it out. `glovebox doctor` says what the engine lacks.', details: { unheld } },
    );
  }
  if (limits.processes !== undefined) assertFitsProcesses(limits.processes);
}

type Files =
  | { readonly kind: 'pending'; readonly operations: PendingFiles }
  | { readonly kind: 'kept'; readonly operations: Keeper; readonly volumes: Volumes };
