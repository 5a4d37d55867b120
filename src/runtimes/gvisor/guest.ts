import { rmSync, statfsSync } from 'node:fs';
import { availableParallelism, constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { getSystemErrorName } from 'node:util';
import { SandboxError } from '../../errors.ts';
import { type Figures, KILLED, startCounting, wasOutOfMemory } from '../host/figures.ts';
import { notStarted } from '../host/hostGuest.ts';
import { rootOfHost } from '../host/hostRoot.ts';
import { prepareInput } from '../host/input.ts';
import type { FoundInterpreters } from '../host/interpreters.ts';
import { assertFits } from '../host/launch.ts';
import type { LaunchStep } from '../host/launcher.ts';
import { childrenOf, firstChild, type Identity, sendIfRunning, untilGone } from '../host/namespaceInit.ts';
import { leftIn } from '../host/pipes.ts';
import { readProc, readStat, sendSignal } from '../host/procfs.ts';
import type { ProgramGroup, ProgramGroups } from '../host/programGroups.ts';
import { processorSeconds } from '../host/rlimits.ts';
import type { Stage } from '../host/stage.ts';
import { NAMESPACES, StagedGuest } from '../host/stagedGuest.ts';
import type {
  Capabilities,
  Command,
  Enforced,
  Exit,
  GuestProcess,
  Relay,
  RelayWish,
  Root,
  SandboxSpec,
} from '../runtime.ts';
import { bundleConfig, runArguments } from './bundle.ts';
import { type Bundle, controlPaths, createBundle } from './control.ts';
import { type Engine, INSTALL, mayOpenPipes, type Tools } from './engine.ts';
import type { RelayPipes } from './relayPipes.ts';
import type { End } from './report.ts';

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
  readonly #parts: GvisorParts;

  constructor(parts: GvisorParts) {
    super(parts);
    this.#parts = parts;
    this.root = parts.folder === undefined ? rootOfHost() : { kind: 'folder', name: parts.folder };
    this.enforced = readEnforced(parts);
  }

  protected async start(command: Command): Promise<GuestProcess> {
    const { groups, stage, spec } = this.#parts;
    const wish = command.relay ?? spec.relay;
    if (wish !== undefined) this.#assertRelay();
    const { launcher, status, orders } = await this.takeLauncher(command.stdin);
    const { output, exited } = launcher;
    let group: ProgramGroup | undefined;
    let figures = startCounting(undefined);
    let bundle: Bundle | undefined;
    let started: string | undefined;
    try {
      group = await groups.next(command.limits);
      figures = startCounting(group.cgroup);
      bundle = await this.#createBundle(command, wish);
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
        started = await status.find(/"started":(true)/);
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
    const ours = bundle;
    const { end: endGroup } = group;
    if (started === undefined) {
      await exited.catch(() => {});
      const said = await leftIn(output.stderr);
      output.destroy();
      ours.remove();
      await endGroup();
      throw isolationFailed((await status.failure) ?? said);
    }
    const init = initOf(launcher.child.pid);
    let signalled: 'SIGTERM' | 'SIGKILL' | undefined;
    let relay: Relay | undefined;
    const end = async (): Promise<Exit> => {
      try {
        await exited;
        sendIfRunning(init, 'SIGKILL');
        await untilGone(init);
        await untilHeard(relay);
        const counted = figures();
        await endGroup();
        return describeExit(ours.readEnd(), counted, signalled);
      } finally {
        ours.remove();
      }
    };
    const kill = async (signal: Parameters<GuestProcess['kill']>[0]): Promise<void> => {
      if (signal !== 'SIGINT') signalled = signal;
      if (signal !== 'SIGKILL') {
        const kernel = kernelBelow(init.pid);
        if (kernel !== undefined) sendSignal(kernel, signal);
        return;
      }
      // unshare first: it would complain, in the program's own output, about the end of what it started.
      launcher.child.kill('SIGKILL');
      sendIfRunning(init, 'SIGKILL');
    };
    const exit = end();
    exit.catch(() => {});
    try {
      relay = wish && (await attachRelay(wish, ours.pipes, exited));
    } catch (error) {
      await kill('SIGKILL');
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
      ...{ exit, kill },
    };
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

  #createBundle({ argv, env, limits = {} }: Command, wish: RelayWish | undefined): Promise<Bundle> {
    const { stage, spec, rootReadonly } = this.#parts;
    const { processes, diskMb, timeoutSec } = spec.policy.limits;
    const paths = controlPaths(stage.mount);
    assertFits(argv, env);
    return createBundle(stage, wish, (names) =>
      bundleConfig({
        ...names,
        argv,
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

/** The first process of the namespace that the launcher made: it became runsc, and everything ends with it. */
function initOf(launcherPid: number | undefined): Identity {
  const pid = (launcherPid && firstChild(launcherPid)) || 0;
  return (pid && readStat(pid)) || { pid, startTime: '' };
}

/** The process that is gVisor's kernel: it hands a signal on to the first process inside, and that to the program. */
function kernelBelow(runsc: number): number | undefined {
  const isKernel = (pid: number): boolean =>
    readProc(`${pid}/cmdline`)?.split('\0').includes('boot') ?? false;
  return childrenOf(runsc).find(({ pid }) => isKernel(pid))?.pid;
}

/**
 * Says how a program ended; throws `SANDBOX_FAILED` when nobody can. A sandbox that we signalled, perhaps before
 * there was a program in it, ends as we wanted.
 */
function describeExit(
  { report, complaint }: End,
  counted: Figures,
  signalled: 'SIGTERM' | 'SIGKILL' | undefined,
): Exit {
  if (report !== undefined && 'notStarted' in report) {
    throw isolationFailed(`the program could not be started: ${getSystemErrorName(-report.notStarted)}`);
  }
  if (report === undefined && !signalled && !counted.oomKills) throw isolationFailed(complaint);
  const code = report?.code ?? 128 + constants.signals[signalled ?? 'SIGKILL'];
  const outOfMemory = signalled !== 'SIGKILL' && wasOutOfMemory(code, counted, true);
  return { code: outOfMemory ? KILLED : code, outOfMemory, ...aboutProgram(counted) };
}

/** The processes of the group are those of the engine, and tell nothing of the program's. */
function aboutProgram({ usage, ...rest }: Figures): Figures {
  if (usage === undefined) return rest;
  const { peakProcesses: _, ...known } = usage;
  return { ...rest, usage: known };
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

function isolationFailed(reason: string | undefined, cause?: unknown): SandboxError {
  return new SandboxError(
    'SANDBOX_FAILED',
    `gVisor could not hold the sandbox: ${reason || 'it ended before its program did'}`,
    { hint: 'Run: glovebox doctor --verify gvisor', cause },
  );
}
