import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '../../errors.ts';
import type { LanguageName } from '../../languages/language.ts';
import type { Cgroup } from '../host/cgroups/cgroup.ts';
import { KILLED, startCounting, wasOutOfMemory } from '../host/figures.ts';
import type { Folder } from '../host/folder.ts';
import { HostGuest, notStarted } from '../host/hostGuest.ts';
import type { HostInterpreter } from '../host/interpreters.ts';
import { type LaunchStep, launcherArguments, STATUS_FD } from '../host/launcher.ts';
import { allProcesses, isRunning, type ProcessStat, readProc, readStat, sendSignal } from '../host/procfs.ts';
import { baseRlimits, memoryRlimit } from '../host/rlimits.ts';
import type { StandardStreams, StreamSupply } from '../host/streams.ts';
import { WorkspaceFiles } from '../host/workspaceFiles.ts';
import type {
  ByteSource,
  Capabilities,
  Command,
  Enforced,
  Exit,
  GuestProcess,
  SandboxSpec,
} from '../runtime.ts';
import { bubblewrapArguments, WRITABLE } from './arguments.ts';
import { readHostView, readNetworkFiles } from './hostView.ts';
import type { SandboxUser, Stage } from './stage.ts';
import { readStatus } from './status.ts';
import type { Tools } from './tools.ts';

/** Descriptors of the program that is being started; all are closed before the guest's program runs. */
const NAMESPACE_FDS = { mount: 4, user: 5 };
const ARGUMENTS_FD = 6;
const SECCOMP_FD = 7;

/** How long the kernel may take to end a namespace's processes before we say that it failed. */
const TEARDOWN_DEADLINE_MS = 10_000;

export interface BubblewrapParts {
  readonly tools: Tools;
  readonly spec: SandboxSpec;
  readonly stage: Stage;
  readonly cgroup: Cgroup | undefined;
  readonly capabilities: Capabilities;
  readonly seccomp: Uint8Array;
  readonly streams: StreamSupply;
  readonly interpreters: ReadonlyMap<LanguageName, HostInterpreter | SandboxError>;
}

/** A sandbox of namespaces: each program of it gets fresh ones over the same files. */
export class BubblewrapGuest extends HostGuest {
  readonly workspace = WRITABLE.workspace;
  readonly environment: Readonly<Record<string, string>>;
  readonly enforced: Enforced;
  readonly #parts: BubblewrapParts;
  readonly #workspaceFolder: Folder;
  #spawned = 0;

  private constructor(parts: BubblewrapParts, workspaceFolder: Folder) {
    super(new WorkspaceFiles(workspaceFolder, WRITABLE.workspace, ownerOtherThanUs(parts.stage.user)));
    this.#parts = parts;
    this.#workspaceFolder = workspaceFolder;
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
    const streams = await this.#parts.streams.take(command.stdin, stage.folder.self);
    const figures = startCounting(cgroup);
    let child: ChildProcess;
    try {
      child = this.#launch(command, streams, this.#writeArguments(command));
    } catch (error) {
      streams.destroy();
      throw notStarted(error);
    }
    const exited = once(child, 'exit');
    exited.catch(() => {});
    const input = streams.handOver(child);
    const status = readStatus(child.stdio[STATUS_FD] as Readable);
    const initPid = await status.started;
    if (initPid === undefined) {
      await exited.catch((error) => {
        streams.destroy();
        throw notStarted(error);
      });
      const said = await leftIn(streams.stderr);
      streams.destroy();
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
      ...input,
      stdout: streams.stdout,
      stderr: streams.stderr,
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
    await this.#parts.cgroup?.remove();
    await this.#parts.streams.close();
    this.#workspaceFolder.close();
    this.#parts.stage.close();
  }

  /** Arguments go through a file in the stage: on the command line other users of the host could read them. */
  #writeArguments(command: Command): string {
    const { stage, interpreters, spec } = this.#parts;
    const shown = [...interpreters.values()].flatMap((found) =>
      found instanceof SandboxError ? [] : found.prefixes,
    );
    const lines = bubblewrapArguments({
      host: readHostView(),
      stage: stage.mount,
      prefixes: [...new Set(shown)].map((path) => ({ source: stage.bound.get(path) ?? path, path })),
      network: spec.policy.network === 'open' ? 'open' : 'none',
      networkFiles: spec.policy.network === 'open' ? readNetworkFiles() : [],
      environment: command.env,
      statusFd: STATUS_FD,
      seccompFd: SECCOMP_FD,
    });
    const name = `arguments-${this.#spawned++}`;
    writeFileSync(stage.folder.entry(name), lines.map((line) => `${line}\0`).join(''), {
      mode: 0o644,
      flag: 'wx',
    });
    return `${stage.mount}/${name}`;
  }

  #launch(command: Command, streams: StandardStreams, argumentsFile: string): ChildProcess {
    const { tools, stage } = this.#parts;
    const asRoot = stage.userNamespace === undefined;
    const program = [
      ...(asRoot
        ? [
            tools.setpriv,
            '--reuid',
            String(stage.user.uid),
            '--regid',
            String(stage.user.gid),
            '--clear-groups',
          ]
        : []),
      ...[tools.bwrap, '--args', String(ARGUMENTS_FD), '--'],
      ...this.#insideLimits(),
      ...command.argv,
    ];
    const steps: LaunchStep[] = [
      ...streams.steps,
      ...(this.#parts.cgroup?.entrances ?? []).map((joinCgroup) => ({ joinCgroup })),
      ...this.#outsideLimits(),
      { openFile: argumentsFile, as: ARGUMENTS_FD },
      { openFile: `${stage.mount}/seccomp`, as: SECCOMP_FD },
    ];
    return spawn(
      tools.nsenter,
      [
        ...(asRoot ? [] : [`--user=/proc/self/fd/${NAMESPACE_FDS.user}`, '--preserve-credentials']),
        `--mount=/proc/self/fd/${NAMESPACE_FDS.mount}`,
        ...launcherArguments(tools.bash, steps, program),
      ],
      {
        // Shown inside as /proc/1/environ.
        env: { PATH: '/usr/bin:/bin' },
        cwd: '/',
        // A group of its own: Ctrl-C is for us, who then end the run in good order.
        detached: true,
        stdio: [...streams.stdio, 'pipe', stage.mountNamespace, stage.userNamespace ?? 'ignore'],
      },
    );
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
  while (isRunning(init)) {
    if (Date.now() > deadline) {
      throw new SandboxError('SANDBOX_FAILED', `Process ${init.pid}, a sandbox's init, could not be ended.`, {
        hint: 'A process in uninterruptible sleep ends when its input or output does.',
        details: { pid: init.pid },
      });
    }
    await delay(1);
  }
}

async function leftIn(stream: ByteSource): Promise<string> {
  let text = '';
  const read = async (): Promise<void> => {
    for await (const chunk of stream) {
      text += Buffer.from(chunk).toString('utf8');
      if (text.length > 4000) break;
    }
  };
  await Promise.race([read().catch(() => {}), delay(200, undefined, { ref: false })]);
  return text.trim();
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
