import { randomUUID } from 'node:crypto';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { SandboxError } from '../../errors.ts';
import type { Cgroup } from '../host/cgroups/cgroup.ts';
import { KILLED, startCounting, wasOutOfMemory } from '../host/figures.ts';
import { STAND_INS } from '../host/furniture.ts';
import { notStarted } from '../host/hostGuest.ts';
import { type HostView, readHostView, readNetworkFiles } from '../host/hostView.ts';
import { type Input, prepareInput } from '../host/input.ts';
import { type FoundInterpreters, prefixesOf } from '../host/interpreters.ts';
import { assertFits } from '../host/launch.ts';
import { type LaunchStep, type Orders, STATUS_FD } from '../host/launcher.ts';
import { firstChild, sendIfRunning, untilGone } from '../host/namespaceInit.ts';
import { leftIn } from '../host/pipes.ts';
import { readStat, sendSignal } from '../host/procfs.ts';
import { baseRlimits, memoryRlimit } from '../host/rlimits.ts';
import { ownerOtherThanUs } from '../host/sandboxUser.ts';
import { NAMESPACES, StagedGuest } from '../host/stagedGuest.ts';
import { writeVisible } from '../host/visible.ts';
import type { Capabilities, Command, Enforced, Exit, GuestProcess, SandboxSpec } from '../runtime.ts';
import { bubblewrapArguments, NOTHING } from './arguments.ts';
import type { BubblewrapStage } from './stage.ts';
import type { Tools } from './tools.ts';

/** Descriptors of the program that is being started; all are closed before the guest's program runs. */
const ARGUMENTS_FD = 6;
const SECCOMP_FD = 7;

/** What is read when a program starts, and is of no use afterwards. */
interface StartFiles {
  /** Where the launcher finds the arguments for bubblewrap. */
  readonly arguments: string;
  readonly input: Input;
  remove(): void;
}

export interface BubblewrapParts {
  readonly tools: Tools;
  readonly spec: SandboxSpec;
  /** For the first program; later ones look again. */
  readonly host: HostView;
  readonly stage: BubblewrapStage;
  readonly cgroup: Cgroup | undefined;
  readonly capabilities: Capabilities;
  readonly seccomp: Uint8Array;
  readonly interpreters: FoundInterpreters;
}

/** A sandbox of namespaces: each program of it gets fresh ones over the same files. */
export class BubblewrapGuest extends StagedGuest {
  readonly enforced: Enforced;
  readonly #parts: BubblewrapParts;
  #host: HostView | undefined;

  private constructor(parts: BubblewrapParts) {
    super(parts);
    this.#parts = parts;
    this.#host = parts.host;
    this.enforced = readEnforced(parts);
  }

  static create(parts: BubblewrapParts): BubblewrapGuest {
    const { folder } = parts.stage;
    writeFileSync(folder.entry('seccomp'), parts.seccomp, { mode: 0o644, flag: 'wx' });
    writeFileSync(folder.entry(NOTHING), '', { mode: 0o444, flag: 'wx' });
    for (const [name, { text }] of Object.entries(STAND_INS)) {
      writeVisible(folder.entry(name), text);
    }
    return new BubblewrapGuest(parts);
  }

  protected async start(command: Command): Promise<GuestProcess> {
    const { cgroup, stage } = this.#parts;
    this.#refuseEarlyCode(command);
    const { launcher, status, orders } = await this.takeLauncher(command.stdin);
    const { output, exited } = launcher;
    const figures = startCounting(cgroup);
    let initPid: number | undefined;
    try {
      const files = this.#prepareFiles(command);
      try {
        launcher.give(this.#orders(command, files), stage.folder.entry(orders));
        initPid = numberOf(await status.find(/"child-pid": *(\d+)\D/));
      } finally {
        files.remove();
        rmSync(stage.folder.entry(orders), { force: true });
      }
    } catch (error) {
      await launcher.abandon();
      throw notStarted(error);
    }
    if (initPid === undefined) {
      await exited.catch((error) => {
        output.destroy();
        throw notStarted(error);
      });
      const said = await leftIn(output.stderr);
      output.destroy();
      throw isolationFailed((await status.failure) ?? said);
    }
    const init = readStat(initPid) ?? { pid: initPid, startTime: '' };
    let killed = false;
    // A program that is ended while it starts leaves no code behind.
    let signalled = false;
    const end = async (): Promise<Exit> => {
      await exited;
      sendIfRunning(init, 'SIGKILL');
      await untilGone(init);
      await cgroup?.killAll();
      const code = numberOf(await status.find(/"exit-code": *(\d+)\D/));
      const counted = figures();
      if (code === undefined && !signalled && !counted.oomKills) throw isolationFailed(await status.failure);
      const final = code ?? KILLED;
      return { code: final, outOfMemory: !killed && wasOutOfMemory(final, counted), ...counted };
    };
    return {
      ...(command.stdin === 'stream' && launcher.child.stdin ? { stdin: launcher.child.stdin } : {}),
      stdout: output.stdout,
      stderr: output.stderr,
      exit: end(),
      async kill(signal) {
        signalled = true;
        if (signal === 'SIGTERM') {
          // The first process that the sandbox's init started.
          const program = firstChild(init.pid);
          if (program !== undefined) sendSignal(program, 'SIGTERM');
          return;
        }
        killed = true;
        sendIfRunning(init, 'SIGKILL');
      },
    };
  }

  /** Where a program inside sets a limit before it becomes the guest's, a preloaded library would come first. */
  #refuseEarlyCode({ env }: Command): void {
    const loads = Object.keys(env).find((name) => name.startsWith('LD_'));
    if (loads === undefined || this.#insideLimits().length === 0) return;
    throw new SandboxError(
      'POLICY_NOT_ENFORCEABLE',
      `With ${loads} set, the limit on processes cannot be held here.`,
      {
        hint: `Run where a cgroup is writable, or leave ${loads} out.`,
        details: { variable: loads },
      },
    );
  }

  protected enterStage(): string[] {
    const { tools, stage } = this.#parts;
    return [
      tools.nsenter,
      ...(stage.userNamespace === undefined ? [] : [`--user=${NAMESPACES.user}`, '--preserve-credentials']),
      `--mount=${NAMESPACES.mount}`,
    ];
  }

  /** What the program's start reads, in the stage: on a command line other users of the host could read it. */
  #prepareFiles(command: Command): StartFiles {
    const { stage } = this.#parts;
    const name = `arguments-${randomUUID()}`;
    const here = stage.folder.entry(name);
    const input = prepareInput(
      command.stdin,
      { here: stage.folder.self, there: stage.mount },
      ownerOtherThanUs(stage.user),
    );
    const remove = (): void => {
      for (const file of [here, input.file ?? here]) rmSync(file, { force: true });
    };
    try {
      const lines = this.#arguments(command).map((line) => `${line}\0`);
      writeFileSync(here, lines.join(''), { mode: 0o600, flag: 'wx' });
      return { arguments: `${stage.mount}/${name}`, input, remove };
    } catch (error) {
      remove();
      throw error;
    }
  }

  #arguments(command: Command): string[] {
    const { stage, interpreters, spec } = this.#parts;
    return bubblewrapArguments({
      host: this.#takeHostView(),
      stage: stage.mount,
      prefixes: prefixesOf(interpreters).map((path) => ({ source: stage.bound.get(path) ?? path, path })),
      network: spec.policy.network === 'open' ? 'open' : 'none',
      networkFiles: spec.policy.network === 'open' ? readNetworkFiles() : [],
      environment: command.env,
      statusFd: STATUS_FD,
      seccompFd: SECCOMP_FD,
    });
  }

  #takeHostView(): HostView {
    const known = this.#host;
    this.#host = undefined;
    return known ?? readHostView();
  }

  #orders(command: Command, files: StartFiles): Orders {
    const { tools, stage, cgroup } = this.#parts;
    assertFits(command.argv, command.env);
    const { uid, gid } = stage.user;
    // Enters nothing: it sets both ids and drops the supplementary groups (nsenter(1), --setgid).
    const drop = [tools.nsenter, `--setgid=${gid}`, `--setuid=${uid}`];
    return {
      steps: [
        ...files.input.steps,
        ...(cgroup?.entrances ?? []).map((joinCgroup) => ({ joinCgroup })),
        ...this.#outsideLimits(),
        { openFile: files.arguments, as: ARGUMENTS_FD },
        { openFile: `${stage.mount}/seccomp`, as: SECCOMP_FD },
      ],
      program: [
        ...(stage.userNamespace === undefined ? drop : []),
        ...[tools.bwrap, '--args', String(ARGUMENTS_FD), '--'],
        ...this.#insideLimits(),
        ...command.argv,
      ],
    };
  }

  #outsideLimits(): LaunchStep[] {
    const { spec, capabilities } = this.#parts;
    const { memoryMb, diskMb, timeoutSec } = spec.policy.limits;
    return [
      ...baseRlimits({ timeoutSec: timeoutSec.value, diskMb: diskMb.value, cores: availableParallelism() }),
      ...(capabilities.limits.memoryMb === 'rlimit' ? [memoryRlimit(memoryMb.value)] : []),
    ];
  }

  /**
   * Where no cgroup counts processes, the kernel counts them by user within the sandbox's own user namespace:
   * so that limit must be set inside.
   */
  #insideLimits(): string[] {
    const { tools, spec, capabilities } = this.#parts;
    if (capabilities.limits.processes !== 'rlimit') return [];
    const count = spec.policy.limits.processes.value;
    return [tools.prlimit, `--nproc=${count}:${count}`, '--'];
  }
}

/** Reads back what holds: from the cgroup's files, from the file system, from the kernel's own user ids. */
function readEnforced({ spec, stage, cgroup, capabilities }: BubblewrapParts): Enforced {
  const { limits, network } = spec.policy;
  const files = statfsSync(stage.folder.self);
  const diskMb = (files.blocks * files.bsize) / 1024 ** 2;
  const held = cgroup?.held;
  const memoryMb =
    capabilities.limits.memoryMb === 'cgroup'
      ? held?.memoryBytes == null
        ? null
        : held.memoryBytes / 1024 ** 2 - diskMb
      : limits.memoryMb.value;
  return {
    isolation: 'namespace',
    network,
    filesystem: 'private',
    processes: 'contained',
    seccomp: true,
    uid: stage.user.uid,
    limits: {
      memoryMb: { value: memoryMb, by: capabilities.limits.memoryMb, default: limits.memoryMb.default },
      diskMb: { value: diskMb, by: 'tmpfs', default: limits.diskMb.default },
      processes:
        capabilities.limits.processes === 'none'
          ? { value: null, by: 'none', default: limits.processes.default }
          : {
              value:
                capabilities.limits.processes === 'cgroup'
                  ? (held?.processes ?? null)
                  : limits.processes.value,
              by: capabilities.limits.processes,
              default: limits.processes.default,
            },
      cpu:
        held?.cpuCores == null
          ? { value: null, by: 'none', default: limits.cpu?.default ?? true }
          : { value: held.cpuCores, by: 'cgroup', default: limits.cpu?.default ?? true },
      timeoutSec: { value: limits.timeoutSec.value, by: 'timer', default: limits.timeoutSec.default },
    },
  };
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function isolationFailed(reason: string | undefined): SandboxError {
  return new SandboxError(
    'SANDBOX_FAILED',
    `bubblewrap could not hold the sandbox: ${reason || 'it was killed'}`,
    {
      hint: 'Run: glovebox doctor --verify bubblewrap',
    },
  );
}
