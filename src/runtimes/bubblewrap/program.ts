import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { SandboxError } from '../../errors.ts';
import { type Figures, KILLED, startCounting, wasOutOfMemory } from '../host/figures.ts';
import { notStarted } from '../host/hostGuest.ts';
import type { HostView } from '../host/hostView.ts';
import { type Input, prepareInput } from '../host/input.ts';
import type { FoundInterpreters } from '../host/interpreters.ts';
import { assertFits, type Launcher } from '../host/launch.ts';
import type { Orders } from '../host/launcher.ts';
import { descendantsOf, firstChild, type Identity, sendIfRunning, untilGone } from '../host/namespaceInit.ts';
import { leftIn } from '../host/pipes.ts';
import { readStat, sendSignal } from '../host/procfs.ts';
import type { ProgramGroup, ProgramGroups } from '../host/programGroups.ts';
import { programRlimits } from '../host/rlimits.ts';
import { ownerOtherThanUs } from '../host/sandboxUser.ts';
import type { Waiting } from '../host/stage.ts';
import type { Status } from '../host/status.ts';
import type { Capabilities, Command, Exit, GuestProcess, ProgramLimits, SandboxSpec } from '../runtime.ts';
import type { BubblewrapStage } from './stage.ts';
import type { Tools } from './tools.ts';

/** Descriptors of the program that is being started; all are closed before the guest's program runs. */
const ARGUMENTS_FD = 6;
export const SECCOMP_FD = 7;

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
  readonly groups: ProgramGroups;
  readonly capabilities: Capabilities;
  readonly seccomp: Uint8Array;
  readonly interpreters: FoundInterpreters;
}

/** One program to start. */
export interface Start {
  readonly command: Command;
  /** The process that becomes bubblewrap. */
  readonly waiting: Waiting;
  /** What bubblewrap is told about namespaces and mounts. */
  readonly view: readonly string[];
  /** True for our relay, which sees no other program and starts none, and for a fork server. */
  readonly isOurs: boolean;
  /** True for a fork server, which gives up its rights by itself, and holds what it makes to its limits. */
  readonly keepsRights?: boolean;
  /** Told of a process in the program's namespaces, while it runs. */
  readonly made: (pid: number) => void;
}

/** Starts a program in namespaces of its own; its limits are the sandbox's, where it has no lower ones. */
export async function startProgram(parts: BubblewrapParts, start: Start): Promise<GuestProcess> {
  const program = await launchProgram(parts, start);
  const { child, output } = program.launcher;
  const end = async (): Promise<Exit> => {
    await program.untilGone();
    try {
      return await program.exit();
    } finally {
      await program.endGroup();
    }
  };
  return {
    ...(start.command.stdin === 'stream' && child.stdin ? { stdin: child.stdin } : {}),
    stdout: output.stdout,
    stderr: output.stderr,
    exit: end(),
    kill: (signal) => program.kill(signal),
  };
}

/** Starts a program and leaves it to the caller how it is waited for. */
export async function launchProgram(parts: BubblewrapParts, start: Start): Promise<LaunchedProgram> {
  const { command, made } = start;
  const { stage, groups } = parts;
  const { launcher, status, orders } = start.waiting;
  const { output, exited } = launcher;
  let group: ProgramGroup | undefined;
  let figures = startCounting(undefined);
  let initPid: number | undefined;
  try {
    group = await groups.next(command.limits);
    figures = startCounting(group.cgroup);
    const files = prepareFiles(stage, command, start.view);
    try {
      launcher.give(writeOrders(parts, start, files, group), stage.folder.entry(orders));
      initPid = numberOf(await status.find(/"child-pid": *(\d+)\D/));
    } finally {
      files.remove();
      rmSync(stage.folder.entry(orders), { force: true });
    }
  } catch (error) {
    await launcher.abandon();
    await group?.end();
    throw notStarted(error);
  }
  const { end: endGroup } = group;
  if (initPid === undefined) {
    await exited.catch(async (error) => {
      output.destroy();
      await endGroup();
      throw notStarted(error);
    });
    const said = await leftIn(output.stderr);
    output.destroy();
    await endGroup();
    throw isolationFailed((await status.failure) ?? said);
  }
  const init = readStat(initPid) ?? { pid: initPid, startTime: '' };
  made(initPid);
  return new LaunchedProgram({ launcher, status, group, init, figures });
}

interface LaunchedParts {
  readonly launcher: Launcher;
  readonly status: Status;
  readonly group: ProgramGroup;
  /** The first process of its namespaces, bubblewrap's own. */
  readonly init: Identity;
  readonly figures: () => Figures;
}

/** A program that bubblewrap has started. */
export class LaunchedProgram {
  readonly launcher: Launcher;
  readonly #parts: LaunchedParts;
  #figures: () => Figures;
  #killed = false;
  // A program that is ended while it starts leaves no code behind.
  #signalled = false;

  constructor(parts: LaunchedParts) {
    this.#parts = parts;
    this.launcher = parts.launcher;
    this.#figures = parts.figures;
  }

  /** What was used until now is none of the program's, and it begins with its whole share of processor time. */
  countAnew(): void {
    this.#parts.group.cgroup?.refill();
    this.#figures = startCounting(this.#parts.group.cgroup);
  }

  /**
   * What init says of the program, which it has waited for; whatever else still runs is on its end then. Throws
   * `SANDBOX_FAILED` where nobody says anything.
   */
  async exit(): Promise<Exit> {
    const { status, init } = this.#parts;
    const code = numberOf(await status.find(/"exit-code": *(\d+)\D/));
    sendIfRunning(init, 'SIGKILL');
    const counted = this.#figures();
    if (code === undefined && !this.#signalled && !counted.oomKills)
      throw isolationFailed(await status.failure);
    const final = code ?? KILLED;
    return { code: final, outOfMemory: !this.#killed && wasOutOfMemory(final, counted), ...counted };
  }

  /** Resolves when bubblewrap has ended and with it all that the program started. */
  async untilGone(): Promise<void> {
    await this.launcher.exited;
    sendIfRunning(this.#parts.init, 'SIGKILL');
    await untilGone(this.#parts.init);
  }

  async endGroup(): Promise<void> {
    await this.#parts.group.end();
  }

  async kill(signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { init } = this.#parts;
    if (signal !== 'SIGINT') this.#signalled = true;
    if (signal === 'SIGKILL') {
      this.#killed = true;
      sendIfRunning(init, 'SIGKILL');
      return;
    }
    // The first process that the sandbox's init started.
    const program = firstChild(init.pid);
    if (signal === 'SIGTERM' && program !== undefined) sendSignal(program, signal);
    if (signal === 'SIGINT') for (const process of descendantsOf(init.pid)) sendIfRunning(process, signal);
  }
}

/** Where a program inside sets a limit before it becomes the guest's, a preloaded library would come first. */
export function refuseEarlyCode(parts: BubblewrapParts, { env }: Command): void {
  const loads = Object.keys(env).find((name) => name.startsWith('LD_'));
  if (loads === undefined || insideLimits(parts).length === 0) return;
  throw new SandboxError(
    'POLICY_NOT_ENFORCEABLE',
    `With ${loads} set, the limit on processes cannot be held here.`,
    {
      hint: `Run where a cgroup is writable, or leave ${loads} out.`,
      details: { variable: loads },
    },
  );
}

/** What the program's start reads, in the stage: on a command line other users of the host could read it. */
function prepareFiles(stage: BubblewrapStage, command: Command, words: readonly string[]): StartFiles {
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
    const lines = words.map((line) => `${line}\0`);
    writeFileSync(here, lines.join(''), { mode: 0o600, flag: 'wx' });
    return { arguments: `${stage.mount}/${name}`, input, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function writeOrders(
  parts: BubblewrapParts,
  { command, isOurs, keepsRights = false }: Start,
  files: StartFiles,
  { cgroup }: ProgramGroup,
): Orders {
  const { tools, stage } = parts;
  assertFits(command.argv, command.env);
  return {
    steps: [
      ...files.input.steps,
      ...(cgroup?.entrances ?? []).map((joinCgroup) => ({ joinCgroup })),
      ...(keepsRights
        ? [{ limit: 'coreBlocks' as const, value: 0 }]
        : programRlimits(parts.spec, parts.capabilities, command.limits)),
      { openFile: files.arguments, as: ARGUMENTS_FD },
      ...(keepsRights ? [] : [{ openFile: `${stage.mount}/seccomp`, as: SECCOMP_FD }]),
    ],
    ...(stage.userNamespace === undefined && !keepsRights
      ? { user: { ...stage.user, with: tools.nsenter } }
      : {}),
    program: [
      ...[tools.bwrap, '--args', String(ARGUMENTS_FD), '--'],
      ...(isOurs ? [] : insideLimits(parts, command.limits)),
      ...command.argv,
    ],
  };
}

/**
 * Where no cgroup counts processes, the kernel counts them by user within the sandbox's own user namespace:
 * so that limit must be set inside.
 */
function insideLimits({ tools, spec, capabilities }: BubblewrapParts, limits: ProgramLimits = {}): string[] {
  if (capabilities.limits.processes !== 'rlimit') return [];
  const { value } = spec.policy.limits.processes;
  const count = Math.min(limits.processes ?? value, value);
  return [tools.prlimit, `--nproc=${count}:${count}`, '--'];
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
