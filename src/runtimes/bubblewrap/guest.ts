import { randomUUID } from 'node:crypto';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { SandboxError } from '../../errors.ts';
import type { LanguageName } from '../../languages/language.ts';
import type { Cgroup } from '../host/cgroups/cgroup.ts';
import { KILLED, startCounting, wasOutOfMemory } from '../host/figures.ts';
import type { Folder } from '../host/folder.ts';
import { HostGuest, notStarted } from '../host/hostGuest.ts';
import { type Input, prepareInput } from '../host/input.ts';
import type { HostInterpreter } from '../host/interpreters.ts';
import { assertFits, Launcher } from '../host/launch.ts';
import { type LaunchStep, launcherArguments, type Orders, STATUS_FD } from '../host/launcher.ts';
import { leftIn, takeOutputPipes } from '../host/pipes.ts';
import { allProcesses, isRunning, type ProcessStat, readProc, readStat, sendSignal } from '../host/procfs.ts';
import { baseRlimits, memoryRlimit } from '../host/rlimits.ts';
import { WorkspaceFiles } from '../host/workspaceFiles.ts';
import type { Capabilities, Command, Enforced, Exit, GuestProcess, SandboxSpec } from '../runtime.ts';
import { bubblewrapArguments, type HostView, WRITABLE } from './arguments.ts';
import { readHostView, readNetworkFiles } from './hostView.ts';
import { LAUNCHER_ENVIRONMENT, type SandboxUser, type Stage, type Waiting } from './stage.ts';
import { readStatus } from './status.ts';
import type { Tools } from './tools.ts';

/** Descriptors of the program that is being started; all are closed before the guest's program runs. */
const NAMESPACE_FDS = { mount: 5, user: 6 };
const ARGUMENTS_FD = 6;
const SECCOMP_FD = 7;

/** What is read when a program starts, and is of no use afterwards. */
interface StartFiles {
  /** Where the launcher finds the arguments for bubblewrap. */
  readonly arguments: string;
  readonly input: Input;
  remove(): void;
}

/** How long the kernel may take to end a namespace's processes before we say that it failed. */
const TEARDOWN_DEADLINE_MS = 10_000;
const QUICK_LOOKS = 20;

export interface BubblewrapParts {
  readonly tools: Tools;
  readonly spec: SandboxSpec;
  /** For the first program; later ones look again. */
  readonly host: HostView;
  readonly stage: Stage;
  readonly cgroup: Cgroup | undefined;
  readonly capabilities: Capabilities;
  readonly seccomp: Uint8Array;
  readonly interpreters: ReadonlyMap<LanguageName, HostInterpreter | SandboxError>;
}

/** A sandbox of namespaces: each program of it gets fresh ones over the same files. */
export class BubblewrapGuest extends HostGuest {
  readonly workspace = WRITABLE.workspace;
  readonly environment: Readonly<Record<string, string>>;
  readonly enforced: Enforced;
  readonly #parts: BubblewrapParts;
  readonly #workspaceFolder: Folder;
  #first: Waiting | undefined;
  #host: HostView | undefined;

  private constructor(parts: BubblewrapParts, workspaceFolder: Folder) {
    super(new WorkspaceFiles(workspaceFolder, WRITABLE.workspace, ownerOtherThanUs(parts.stage.user)));
    this.#parts = parts;
    this.#workspaceFolder = workspaceFolder;
    this.#first = parts.stage.first;
    this.#host = parts.host;
    this.environment = {
      PATH: searchPath([...parts.interpreters.values()]),
      HOME: this.workspace,
      PWD: this.workspace,
      LANG: 'C.UTF-8',
      TMPDIR: WRITABLE.tmp,
    };
    this.enforced = readEnforced(parts);
  }

  static create(parts: BubblewrapParts): BubblewrapGuest {
    writeFileSync(parts.stage.folder.entry('seccomp'), parts.seccomp, { mode: 0o644, flag: 'wx' });
    return new BubblewrapGuest(parts, parts.stage.folder.enter('workspace'));
  }

  async interpreter(language: LanguageName): Promise<HostInterpreter> {
    const found = this.#parts.interpreters.get(language);
    if (found instanceof SandboxError) throw found;
    if (found !== undefined) return found;
    throw new SandboxError('LANGUAGE_UNAVAILABLE', `This sandbox was not made for ${language}.`, {
      hint: `Name ${language} when the sandbox is made.`,
      details: { language },
    });
  }

  protected async start(command: Command): Promise<GuestProcess> {
    const { cgroup, stage } = this.#parts;
    this.#refuseEarlyCode(command);
    const { launcher, status, orders } = await this.#takeLauncher(command.stdin);
    const { output, exited } = launcher;
    const figures = startCounting(cgroup);
    let initPid: number | undefined;
    try {
      const files = this.#prepareFiles(command);
      try {
        launcher.give(this.#orders(command, files), stage.folder.entry(orders));
        initPid = await status.started;
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
    const end = async (): Promise<Exit> => {
      await exited;
      sendIfRunning(init, 'SIGKILL');
      await untilGone(init);
      await cgroup?.killAll();
      const code = await status.exitCode;
      const counted = figures();
      if (code === undefined && !killed && !counted.oomKills) throw isolationFailed(await status.failure);
      const final = code ?? KILLED;
      return { code: final, outOfMemory: !killed && wasOutOfMemory(final, counted), ...counted };
    };
    return {
      ...(command.stdin === 'stream' && launcher.child.stdin ? { stdin: launcher.child.stdin } : {}),
      stdout: output.stdout,
      stderr: output.stderr,
      exit: end(),
      async kill(signal) {
        if (signal === 'SIGTERM') {
          const program = mainProgram(init.pid);
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

  protected async release(): Promise<void> {
    await this.#first?.launcher.abandon();
    await this.#parts.cgroup?.remove();
    this.#workspaceFolder.close();
    this.#parts.stage.close();
  }

  /** The process that made the stage for the first program, a new one in the stage for a later one. */
  async #takeLauncher(stdin: Command['stdin']): Promise<Waiting> {
    const first = this.#first;
    // It was started without anything to read from.
    if (!first?.launcher.isWaiting || stdin === 'stream') return this.#enterStage(stdin);
    this.#first = undefined;
    return first;
  }

  async #enterStage(stdin: Command['stdin']): Promise<Waiting> {
    const { tools, stage } = this.#parts;
    const { mountNamespace, userNamespace } = stage;
    const orders = `orders-${randomUUID()}`;
    const launcher = Launcher.start({
      argv: [
        tools.nsenter,
        ...(userNamespace === undefined
          ? []
          : [`--user=/proc/self/fd/${NAMESPACE_FDS.user}`, '--preserve-credentials']),
        `--mount=/proc/self/fd/${NAMESPACE_FDS.mount}`,
        ...launcherArguments(tools.bash, [], `${stage.mount}/${orders}`),
      ],
      cwd: '/',
      environment: LAUNCHER_ENVIRONMENT,
      stdin,
      output: await takeOutputPipes(ownerOtherThanUs(stage.user)),
      descriptors: [mountNamespace, userNamespace ?? 'ignore'],
    });
    return { launcher, status: readStatus(launcher.status), orders };
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
    const shown = [...interpreters.values()].flatMap((found) =>
      found instanceof SandboxError ? [] : found.prefixes,
    );
    return bubblewrapArguments({
      host: this.#takeHostView(),
      stage: stage.mount,
      prefixes: [...new Set(shown)].map((path) => ({ source: stage.bound.get(path) ?? path, path })),
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

/** What we make for the sandbox must be given to its user, where that is not us. */
export function ownerOtherThanUs(user: SandboxUser): SandboxUser | undefined {
  return user.uid === process.getuid?.() ? undefined : user;
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

function searchPath(interpreters: readonly (HostInterpreter | SandboxError)[]): string {
  const folders = interpreters.flatMap((found) =>
    found instanceof SandboxError ? [] : [dirname(found.path)],
  );
  return [...new Set([...folders, '/usr/local/bin', '/usr/bin', '/bin'])].join(':');
}

/** The program itself: the first process that the sandbox's init started. */
function mainProgram(initPid: number): number | undefined {
  const children =
    readProc(`${initPid}/task/${initPid}/children`)?.trim().split(' ').filter(Boolean).map(Number) ??
    allProcesses().flatMap(({ pid, parent }) => (parent === initPid ? [pid] : []));
  const known = children.flatMap((pid) => readStat(pid) ?? []);
  return known.sort((a, b) => Number(a.startTime) - Number(b.startTime) || a.pid - b.pid)[0]?.pid;
}

type Identity = Pick<ProcessStat, 'pid' | 'startTime'>;

function sendIfRunning(process: Identity, signal: NodeJS.Signals): void {
  if (isRunning(process)) sendSignal(process.pid, signal);
}

/** The end of a namespace's init is the end of everything in it: the kernel sees to that first. */
async function untilGone(init: Identity): Promise<void> {
  const deadline = Date.now() + TEARDOWN_DEADLINE_MS;
  for (let look = 0; isRunning(init); look++) {
    if (Date.now() > deadline) {
      throw new SandboxError('SANDBOX_FAILED', `Process ${init.pid}, a sandbox's init, could not be ended.`, {
        hint: 'A process in uninterruptible sleep ends when its input or output does.',
        details: { pid: init.pid },
      });
    }
    // Mostly it is a matter of less than a millisecond.
    await (look < QUICK_LOOKS ? nextTurn() : delay(1));
  }
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
