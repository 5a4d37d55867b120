import { readFileSync } from 'node:fs';
import { SandboxError } from '../../errors.ts';
import type { LanguageName } from '../../languages/language.ts';
import { HostGuest } from '../host/hostGuest.ts';
import { assertFits } from '../host/launch.ts';
import type { Capabilities, Command, Enforced, Guest, GuestProcess, SandboxSpec } from '../runtime.ts';
import { writeOrders } from './bootstrap.ts';
import type { Connection } from './connect.ts';
import {
  type ContainerSpec,
  containerBody,
  diskShares,
  limitsInShell,
  volumeOptions,
  WRITABLE,
} from './container.ts';
import { type ContainerState, removeVolume } from './containers.ts';
import { type Image, type ImageContent, interpreterIn } from './image.ts';
import { KEEPER_SCRIPT, Keeper } from './keeper.ts';
import { labelsFor, nameFor } from './ownership.ts';
import { PendingFiles } from './pendingFiles.ts';
import { containerFailed, ProgramContainer } from './program.ts';
import { describeSecurity } from './security.ts';

/** Variables that engines add to every container. */
const OF_THE_ENGINE = ['HOSTNAME', 'TERM', 'container', 'TINI_KILL_PROCESS_GROUP'];

export interface DockerParts {
  readonly connection: Connection;
  readonly capabilities: Capabilities;
  readonly spec: SandboxSpec;
  readonly image: Image;
  readonly content: ImageContent;
  /** The operator's profile, where it takes the place of ours. */
  readonly seccompProfile?: string;
  /** The same for every container of the sandbox, but for its labels and volumes. */
  readonly container: Omit<ContainerSpec, 'labels' | 'volumes'>;
}

/** A sandbox of containers: each program gets one of its own. */
export class DockerGuest extends HostGuest {
  readonly workspace = WRITABLE.workspace;
  readonly environment: Readonly<Record<string, string>>;
  readonly enforced: Enforced;
  readonly #parts: DockerParts;
  readonly #files: Files;
  readonly #containers = new Set<ProgramContainer>();
  #first: ProgramContainer | undefined;
  #count = 0;

  private constructor(
    parts: DockerParts,
    files: Files,
    first: ProgramContainer | undefined,
    state: ContainerState,
  ) {
    super(files.operations);
    this.#parts = parts;
    this.#files = files;
    this.#first = first;
    if (first !== undefined) this.#containers.add(first);
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
      const first = await startProgram(parts, { kind: 'pending', operations: pending }, 0);
      return first.inspect().then(
        (state) => new DockerGuest(parts, { kind: 'pending', operations: pending }, first, state),
        async (error: unknown) => {
          await first.remove();
          throw containerFailed(error);
        },
      );
    }
    const volumes = await makeVolumes(parts);
    try {
      const name = nameFor(spec.id, 'k');
      const body = containerBody(
        { ...parts.container, volumes, labels: labelsFor(name) },
        { script: KEEPER_SCRIPT },
      );
      const keeper = await Keeper.start(connection.engine, name, body);
      try {
        const state = await keeper.inspect();
        return new DockerGuest(parts, { kind: 'kept', operations: keeper, volumes }, undefined, state);
      } catch (error) {
        await keeper.remove();
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
    const orders = writeOrders({
      files: this.#files.kind === 'pending' ? this.#files.operations.all : new Map(),
      unset: [...OF_THE_ENGINE, ...this.#parts.image.variables.filter((name) => name !== 'PATH')],
      environment: command.env,
      argv: command.argv,
      limits: limitsInShell(this.#parts.container),
      relay: this.#parts.connection.ownKernel,
    });
    const container = await this.#takeContainer();
    try {
      const program = await container.give(orders, command.stdin);
      const gone = program.exit.finally(() => this.#putAway(container));
      // Whoever spawned it looks at how it ended.
      gone.catch(() => {});
      return program;
    } catch (error) {
      await container.remove();
      this.#containers.delete(container);
      throw error;
    }
  }

  /** It has ended, and nobody waits until its remains are taken away; `release` does. */
  async #putAway(container: ProgramContainer): Promise<void> {
    await container.remove();
    this.#containers.delete(container);
  }

  async #takeContainer(): Promise<ProgramContainer> {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) return first;
    if (this.#files.kind === 'pending') {
      throw new SandboxError('SANDBOX_FAILED', 'A sandbox for a single use was used twice.', {
        hint: 'This is a bug of Glovebox: please report it.',
      });
    }
    this.#count++;
    const container = await startProgram(this.#parts, this.#files, this.#count);
    this.#containers.add(container);
    return container;
  }

  protected async release(): Promise<void> {
    const { engine } = this.#parts.connection;
    const files = this.#files;
    const endings = [...this.#containers].map((container) => container.remove());
    if (files.kind === 'kept') endings.push(files.operations.remove());
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

type Files =
  | { readonly kind: 'pending'; readonly operations: PendingFiles }
  | { readonly kind: 'kept'; readonly operations: Keeper; readonly volumes: Volumes };

type Volumes = NonNullable<ContainerSpec['volumes']>;

function startProgram(parts: DockerParts, files: Files, number: number): Promise<ProgramContainer> {
  const name = nameFor(parts.spec.id, `p${number}`);
  const body = containerBody({
    ...parts.container,
    ...(files.kind === 'kept' ? { volumes: files.volumes } : {}),
    labels: labelsFor(name),
  });
  return ProgramContainer.start(parts.connection, name, body);
}

/** Two file systems in memory, each as large as its share. */
async function makeVolumes({ spec, container, connection }: DockerParts): Promise<Volumes> {
  const { engine } = connection;
  const volumes = { workspace: nameFor(spec.id, 'w'), tmp: nameFor(spec.id, 't') };
  const made: string[] = [];
  try {
    for (const [place, name] of Object.entries(volumes) as ['workspace' | 'tmp', string][]) {
      const o = volumeOptions(place, container, connection.mapsUsers);
      await engine.call('POST', '/volumes/create', {
        body: {
          Name: name,
          Driver: 'local',
          DriverOpts: { type: 'tmpfs', device: 'tmpfs', o },
          Labels: labelsFor(name),
        },
      });
      made.push(name);
    }
    return volumes;
  } catch (error) {
    for (const name of made) await removeVolume(engine, name).catch(() => {});
    throw containerFailed(error);
  }
}

/** What the engine says that it holds, but for what it is known not to hold here. */
function readEnforced(
  { spec, capabilities, connection, seccompProfile }: DockerParts,
  { HostConfig, State }: ContainerState,
): Enforced {
  const { limits, network } = spec.policy;
  const by = capabilities.limits;
  const held = (name: keyof typeof by): boolean => by[name] !== 'none';
  const memoryMb =
    held('memoryMb') && HostConfig.Memory > 0 ? HostConfig.Memory / 1024 ** 2 - limits.diskMb.value : null;
  const processes =
    by.processes === 'rlimit' ? limits.processes.value : (held('processes') && HostConfig.PidsLimit) || null;
  const cpu = held('cpu') && HostConfig.NanoCpus > 0 ? HostConfig.NanoCpus / 1e9 : null;
  return {
    isolation: capabilities.isolation,
    network: HostConfig.NetworkMode === 'none' ? 'none' : network,
    filesystem: 'private',
    processes: 'contained',
    seccomp: capabilities.seccomp,
    securityOptions: describeSecurity(HostConfig.SecurityOpt ?? [], seccompProfile),
    uid: connection.ownKernel ? null : hostUid(State.Pid),
    limits: {
      memoryMb: {
        value: memoryMb,
        by: memoryMb === null ? 'none' : by.memoryMb,
        default: limits.memoryMb.default,
      },
      diskMb: { value: limits.diskMb.value, by: 'tmpfs', default: limits.diskMb.default },
      processes: {
        value: processes,
        by: processes === null ? 'none' : by.processes,
        default: limits.processes.default,
      },
      cpu: { value: cpu, by: cpu === null ? 'none' : by.cpu, default: limits.cpu?.default ?? true },
      timeoutSec: { value: limits.timeoutSec.value, by: 'timer', default: limits.timeoutSec.default },
    },
  };
}

/** The user that this host's kernel sees, where the engine runs on it and not on a machine of its own. */
function hostUid(pid: number): number | null {
  try {
    const cgroup = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
    const uid = /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return /[0-9a-f]{64}/.test(cgroup) && uid !== undefined ? Number(uid) : null;
  } catch {
    // No such process here: then nobody here sees a user.
    return null;
  }
}
