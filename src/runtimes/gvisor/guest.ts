import { rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '../../errors.ts';
import { LONGEST_CODE_BYTES } from '../../languages/waiting/waiting.ts';
import { startCounting } from '../host/figures.ts';
import { notStarted } from '../host/hostGuest.ts';
import { rootOfHost } from '../host/hostRoot.ts';
import { prepareInput } from '../host/input.ts';
import type { FoundInterpreters } from '../host/interpreters.ts';
import { assertFits } from '../host/launch.ts';
import type { LaunchStep } from '../host/launcher.ts';
import { type InputPipe, leftIn } from '../host/pipes.ts';
import type { ProgramGroup, ProgramGroups } from '../host/programGroups.ts';
import { processorSeconds } from '../host/rlimits.ts';
import { assertRoom } from '../host/room.ts';
import type { Stage } from '../host/stage.ts';
import { NAMESPACES, StagedGuest } from '../host/stagedGuest.ts';
import { prepareInterpreter, suitsWaiting, usedTwice } from '../host/waitingInterpreter.ts';
import type {
  Capabilities,
  Command,
  Enforced,
  GuestProcess,
  Relay,
  RelayWish,
  RemoveOptions,
  Root,
  SandboxSpec,
  Unpacked,
  UnpackOptions,
  WarmedBy,
  WarmWish,
} from '../runtime.ts';
import { bundleConfig, EMPTY_FILE, runArguments } from './bundle.ts';
import { type Bundle, controlPaths, createBundle } from './control.ts';
import { type Engine, INSTALL, mayOpenPipes, type Tools } from './engine.ts';
import type { RelayPipes } from './relayPipes.ts';
import { isolationFailed, Started } from './started.ts';
import { WaitingProgram, type WrittenFile } from './waiting.ts';

/**
 * The namespaces that runsc itself runs in: of processes, so that all ends with the first of them, which ends
 * with us; of networks, since the socket by which runsc steers a sandbox has no file and so no owner.
 */
export const APART = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];

/**
 * What the engine itself may take, beside the program and its files: about 25 MB to begin with, and a share
 * of each process.
 */
export const ENGINE_MEMORY_MB = 64;

/** Reading what is left in a pipe takes no time, unless this process is busy. */
const HEARING_DEADLINE_MS = 2000;

export interface GvisorParts {
  readonly tools: Tools;
  readonly engine: Engine;
  readonly spec: SandboxSpec;
  readonly stage: Stage;
  readonly groups: ProgramGroups;
  readonly capabilities: Capabilities;
  readonly interpreters: FoundInterpreters;
  /** See `BundleSpec`. */
  readonly rootReadonly: boolean;
  /** The folder that is its root; the host's own system otherwise. */
  readonly folder: string | undefined;
}

/** A sandbox of gVisor: each program of it gets a kernel of its own over the same files. */
export class GvisorGuest extends StagedGuest {
  readonly enforced: Enforced;
  override readonly root: Root;
  warmedBy?: WarmedBy;
  readonly #parts: GvisorParts;
  #waiting: WaitingProgram | undefined;
  /** What was written last, where nothing else in the workspace was changed since. */
  #written: WrittenFile | undefined;

  constructor(parts: GvisorParts) {
    super(parts);
    this.#parts = parts;
    this.root = parts.folder === undefined ? rootOfHost() : { kind: 'folder', name: parts.folder };
    this.enforced = readEnforced(parts);
  }

  override async writeFile(path: string, data: Uint8Array): Promise<void> {
    this.#written = undefined;
    await super.writeFile(path, data);
    if (data.length <= LONGEST_CODE_BYTES) this.#written = { path, data: Uint8Array.from(data) };
  }

  override removeFile(path: string, options?: RemoveOptions): Promise<void> {
    this.#written = undefined;
    return super.removeFile(path, options);
  }

  override unpack(
    path: string,
    archive: AsyncIterable<Uint8Array>,
    options: UnpackOptions,
  ): Promise<Unpacked> {
    this.#written = undefined;
    return super.unpack(path, archive, options);
  }

  protected async start(command: Command): Promise<GuestProcess> {
    if (this.warmedBy === undefined) return this.#startCold(command);
    const { spec } = this.#parts;
    const waiting = this.#waiting;
    if (waiting === undefined) throw usedTwice();
    if (suitsWaiting(command, spec)) {
      if (command.stdin instanceof Uint8Array) assertRoom(this.#parts.stage.folder.self, [command.stdin]);
      return waiting.become(command, this.#written);
    }
    this.#waiting = undefined;
    await waiting.end();
    return this.#startCold(command);
  }

  /**
   * Starts an interpreter that waits for the program. `input` is the standard input of the stage's first process. Throws
   * `SANDBOX_FAILED` when it does not come to that.
   */
  async warmUp(warm: WarmWish, input: InputPipe): Promise<void> {
    const prepared = await prepareInterpreter(this, warm, EMPTY_FILE);
    const { argv, env, code, preload, file } = prepared;
    // Every path inside is what it is in any other sandbox, before the program begins and after.
    const empty = controlPaths(this.#parts.stage.folder.self).empty.file;
    if (code !== undefined) await this.writeFile(file, Buffer.from(code));
    if (preload !== undefined) writeFileSync(empty, preload);
    this.#waiting = await WaitingProgram.in(
      await this.#launch({ argv, env }, undefined, true),
      prepared,
      input,
    );
    if (preload !== undefined) truncateSync(empty);
    if (code !== undefined) await this.removeFile(file);
    this.warmedBy = 'waiting_interpreter';
  }

  async #startCold(command: Command): Promise<GuestProcess> {
    const { spec } = this.#parts;
    const wish = command.relay ?? spec.relay;
    if (wish !== undefined) this.#assertRelay();
    const started = await this.#launch(command, wish, false);
    const { launcher, bundle } = started;
    const { output, exited } = launcher;
    let relay: Relay | undefined;
    const exit = started.end(() => untilHeard(relay));
    exit.catch(() => {});
    try {
      relay = wish && (await attachRelay(wish, bundle.pipes, exited));
    } catch (error) {
      await started.kill('SIGKILL');
      await exit.catch(() => {});
      const said = await leftIn(output.stderr);
      output.destroy();
      throw isolationFailed(said || (error as Error).message, error);
    }
    return {
      ...(command.stdin === 'stream' && launcher.child.stdin ? { stdin: launcher.child.stdin } : {}),
      stdout: output.stdout,
      stderr: output.stderr,
      ...(relay === undefined ? {} : { relay }),
      exit,
      kill: (signal) => started.kill(signal),
      signalsComeLate: true,
    };
  }

  /** Starts a kernel with this program in it. Throws `SANDBOX_FAILED`; nothing is left then. */
  async #launch(command: Command, wish: RelayWish | undefined, frames: boolean): Promise<Started> {
    const { groups, stage } = this.#parts;
    const { launcher, status, orders } = await this.takeLauncher(command.stdin);
    const { output, exited } = launcher;
    let group: ProgramGroup | undefined;
    let bundle: Bundle | undefined;
    let isStarted: string | undefined;
    let figures = startCounting(undefined);
    try {
      group = await groups.next(command.limits);
      figures = startCounting(group.cgroup);
      bundle = await this.#createBundle(command, wish, frames);
      const input = prepareInput(
        command.stdin,
        { here: stage.folder.self, there: stage.mount },
        // It is opened from here: who may open it again is decided inside.
        undefined,
      );
      try {
        launcher.give(
          { steps: this.#steps(input.steps, group), program: this.#runsc(bundle), environment: {} },
          stage.folder.entry(orders),
        );
        isStarted = await status.find(/"started":(true)/);
      } finally {
        if (input.file) rmSync(input.file, { force: true });
        rmSync(stage.folder.entry(orders), { force: true });
      }
    } catch (error) {
      bundle?.remove();
      await launcher.abandon();
      await group?.end();
      throw notStarted(error);
    }
    if (isStarted !== undefined) return new Started(launcher, group, bundle, figures);
    await exited.catch(() => {});
    const said = await leftIn(output.stderr);
    output.destroy();
    bundle.remove();
    await group.end();
    throw isolationFailed((await status.failure) ?? said);
  }

  protected override async release(): Promise<void> {
    await this.#waiting?.end();
    await super.release();
  }

  protected enterStage(): string[] {
    const { tools } = this.#parts;
    return [
      ...[tools.setpriv, '--pdeathsig', 'KILL'],
      ...[tools.nsenter, `--mount=${NAMESPACES.mount}`],
      ...[tools.unshare, ...APART],
    ];
  }

  #assertRelay(): void {
    const { engine } = this.#parts;
    if (mayOpenPipes(engine)) return;
    throw new SandboxError('POLICY_NOT_ENFORCEABLE', `runsc ${engine.version} opens no pipe of ours.`, {
      hint: INSTALL,
    });
  }

  #createBundle(
    { argv, env, limits = {} }: Command,
    wish: RelayWish | undefined,
    frames: boolean,
  ): Promise<Bundle> {
    const { stage, spec, rootReadonly } = this.#parts;
    const { processes, diskMb, timeoutSec } = spec.policy.limits;
    const paths = controlPaths(stage.mount);
    assertFits(argv, env);
    return createBundle(stage, wish, (names) =>
      bundleConfig({
        ...names,
        argv,
        frames,
        environment: env,
        root: { path: paths.root, readonly: rootReadonly },
        init: paths.init,
        empty: paths.empty,
        stage: stage.mount,
        limits: {
          processes: Math.min(limits.processes ?? processes.value, processes.value),
          diskMb: diskMb.value,
          cpuSec: processorSeconds({
            timeoutSec: limits.timeoutSec ?? timeoutSec.value,
            cores: availableParallelism(),
          }),
        },
      }),
    );
  }

  #steps(input: readonly LaunchStep[], { cgroup }: ProgramGroup): LaunchStep[] {
    return [
      ...input,
      ...(cgroup?.entrances ?? []).map((joinCgroup) => ({ joinCgroup })),
      { limit: 'coreBlocks', value: 0 },
    ];
  }

  #runsc({ id, pipes }: Bundle): string[] {
    const { tools, engine, stage } = this.#parts;
    const paths = controlPaths(stage.mount);
    return [
      tools.runsc,
      ...runArguments({
        ...{ dialect: engine, state: paths.state, bundle: paths.bundle(id), id },
        withPipes: pipes !== undefined,
      }),
    ];
  }
}

/** Waits until the relay says that it is ready; one whose sandbox has ended is none. */
async function attachRelay(
  wish: RelayWish,
  pipes: RelayPipes | undefined,
  exited: Promise<unknown>,
): Promise<Relay | undefined> {
  if (pipes === undefined) return undefined;
  let isAttached = false;
  const end = (): void => {
    if (!isAttached) pipes.remove();
  };
  exited.then(end, end);
  const relay = await wish.attach(pipes.streams);
  isAttached = true;
  pipes.letGo();
  return relay;
}

/** Waits until all is read that a relay has said which is gone. */
async function untilHeard(relay: Relay | undefined): Promise<void> {
  if (relay === undefined) return;
  const over = new AbortController();
  const deadline = delay(HEARING_DEADLINE_MS, undefined, { signal: over.signal }).catch(() => {});
  await Promise.race([relay.closed, deadline]);
  over.abort();
}

/** Reads back what holds: from the cgroup's files and from the file system. */
function readEnforced({ spec, stage, groups, capabilities }: GvisorParts): Enforced {
  const { limits } = spec.policy;
  const files = statfsSync(stage.folder.self);
  const diskMb = (files.blocks * files.bsize) / 1024 ** 2;
  const { memoryBytes = null, cpuCores = null } = groups.whole?.held ?? {};
  const memoryMb = memoryBytes === null ? null : memoryBytes / 1024 ** 2 - diskMb - ENGINE_MEMORY_MB;
  return {
    isolation: 'kernel',
    // There is none but a loopback in any case: an allowlist is the relay, and who is at its other end.
    network: spec.relay !== undefined && spec.policy.network === 'allowlist' ? 'allowlist' : 'none',
    filesystem: 'private',
    processes: 'contained',
    seccomp: true,
    // Programs are no processes of the host's kernel.
    uid: null,
    limits: {
      memoryMb: { value: memoryMb, by: capabilities.limits.memoryMb, default: limits.memoryMb.default },
      diskMb: { value: diskMb, by: 'tmpfs', default: limits.diskMb.default },
      processes: { value: limits.processes.value, by: 'rlimit', default: limits.processes.default },
      cpu: {
        value: cpuCores,
        by: cpuCores === null ? 'none' : 'cgroup',
        default: limits.cpu?.default ?? true,
      },
      timeoutSec: { value: limits.timeoutSec.value, by: 'timer', default: limits.timeoutSec.default },
    },
  };
}
