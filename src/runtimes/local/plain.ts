/**
 * A plain process of this host in a folder of its own: what is left where namespaces do not work. It is not
 * a security boundary, and `enforced` says so. It keeps its working folder apart, its environment, its
 * descriptors and, as far as it can, its processes.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { SandboxError } from '../../errors.ts';
import type { LanguageName } from '../../languages/language.ts';
import type { CgroupHost } from '../host/cgroups/cgroup.ts';
import { findExecutable } from '../host/executables.ts';
import { startCounting, wasOutOfMemory } from '../host/figures.ts';
import { Folder } from '../host/folder.ts';
import { HostGuest, notStarted } from '../host/hostGuest.ts';
import { openInput, prepareInput } from '../host/input.ts';
import type { HostInterpreter, InterpreterFinder } from '../host/interpreters.ts';
import { Launcher } from '../host/launch.ts';
import { ownedName } from '../host/owner.ts';
import { type OutputPipes, takeOutputPipes } from '../host/pipes.ts';
import { endTree } from '../host/processTree.ts';
import { isRunning, readStat, sendSignal } from '../host/procfs.ts';
import { type ProgramGroup, ProgramGroups } from '../host/programGroups.ts';
import { removeTree } from '../host/removeTree.ts';
import { programRlimits } from '../host/rlimits.ts';
import { WorkspaceFiles } from '../host/workspaceFiles.ts';
import type { Capabilities, Command, Enforced, Exit, Guest, GuestProcess, SandboxSpec } from '../runtime.ts';
import { marks } from './leftovers.ts';

export interface PlainOptions {
  readonly interpreters: InterpreterFinder;
  readonly cgroups: CgroupHost | undefined;
}

/** What a plain process can hold with these cgroups; `launcher` is whether bash is there to set limits. Pure. */
export function plainCapabilities(cgroups: CgroupHost | undefined, launcher: boolean): Capabilities {
  const has = (controller: 'memory' | 'pids' | 'cpu'): boolean =>
    launcher && (cgroups?.controllers.has(controller) ?? false);
  return {
    isolation: 'process',
    network: ['open'],
    filesystem: 'host',
    processes: launcher && cgroups !== undefined ? 'contained' : 'best-effort',
    seccomp: false,
    limits: {
      memoryMb: has('memory') ? 'cgroup' : launcher && process.platform === 'linux' ? 'rlimit' : 'none',
      diskMb: 'none',
      processes: has('pids') ? 'cgroup' : 'none',
      cpu: has('cpu') ? 'cgroup' : 'none',
      timeoutSec: 'timer',
    },
  };
}

/** Makes the folder, and the cgroup where there can be one. */
export async function createPlainGuest(spec: SandboxSpec, options: PlainOptions): Promise<Guest> {
  const bash = findExecutable('bash');
  const capabilities = plainCapabilities(options.cgroups, bash !== undefined);
  if (bash !== undefined) options.cgroups?.hurry();
  const output = await takeOutputPipes();
  const home = mkdtempSync(join(tmpdir(), ownedName('box')));
  let first: Waiting | undefined;
  try {
    mkdirSync(join(home, 'workspace'), { mode: 0o700 });
    // Bash starts while the rest is made.
    if (bash !== undefined) first = startLauncher(bash, home, output, undefined);
    else output.destroy();
    mkdirSync(join(home, 'tmp'), { mode: 0o700 });
    const folder = Folder.open(join(home, 'workspace'));
    const groups = await ProgramGroups.create(
      bash === undefined ? undefined : options.cgroups,
      spec,
      ({ memoryMb, processes }) => ({ memoryBytes: Math.ceil(memoryMb * 1024 ** 2), processes }),
    );
    return new PlainGuest({ spec, options, home, folder, groups, bash, first, capabilities });
  } catch (error) {
    await first?.launcher.abandon();
    output.destroy();
    await removeTree(home);
    throw error;
  }
}

function startLauncher(bash: string, home: string, output: OutputPipes, stdin: Command['stdin']): Waiting {
  const orders = join(home, `orders-${randomUUID()}`);
  const launcher = Launcher.start({
    ...{ bash, enter: [], makes: 'nothing', steps: [], orders },
    cwd: join(home, 'workspace'),
    environment: {},
    stdin,
    output,
  });
  return { launcher, orders };
}

/** A launcher, and where it will look for its orders. */
interface Waiting {
  readonly launcher: Launcher;
  readonly orders: string;
}

interface PlainParts {
  readonly spec: SandboxSpec;
  readonly options: PlainOptions;
  readonly home: string;
  readonly folder: Folder;
  readonly groups: ProgramGroups;
  readonly bash: string | undefined;
  /** Started already, to become the first program. */
  readonly first: Waiting | undefined;
  readonly capabilities: Capabilities;
}

/** A program that runs, or has already ended. */
interface Started {
  readonly pid: number;
  /** With the pid it names this process for good. */
  readonly startTime: string;
  readonly exited: Launcher['exited'];
  readonly stdin?: Writable;
  readonly output: OutputPipes;
}

class PlainGuest extends HostGuest {
  readonly workspace: string;
  override readonly sharesLoopback = true;
  readonly environment: Readonly<Record<string, string>>;
  readonly enforced: Enforced;
  readonly #parts: PlainParts;
  /** The first processes of the programs that run. */
  readonly #leaders = new Set<number>();
  #first: Waiting | undefined;

  constructor(parts: PlainParts) {
    const workspace = join(parts.home, 'workspace');
    super(new WorkspaceFiles(parts.folder, workspace));
    this.#parts = parts;
    this.#first = parts.first;
    this.workspace = workspace;
    this.environment = {
      PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
      HOME: this.workspace,
      PWD: this.workspace,
      LANG: 'C.UTF-8',
      TMPDIR: join(parts.home, 'tmp'),
    };
    this.enforced = readEnforced(parts);
  }

  interpreter(language: LanguageName): Promise<HostInterpreter> {
    return this.#parts.options.interpreters.find(language);
  }

  protected async start(command: Command): Promise<GuestProcess> {
    const { bash, groups } = this.#parts;
    const argv = this.#resolve(command);
    const group = await groups.next(command.limits);
    const figures = startCounting(group.cgroup);
    const started = await (bash === undefined
      ? this.#spawnBare({ ...command, argv })
      : this.#launch({ ...command, argv }, bash, group)
    ).catch(async (error) => {
      await group.end();
      throw error;
    });
    const { pid, startTime, exited, stdin, output } = started;
    this.#leaders.add(pid);
    const end = async (): Promise<Exit> => {
      const [code, signal] = await exited;
      await this.#endTree(started, group);
      this.#leaders.delete(pid);
      const final = code ?? 128 + signalNumber(signal);
      const counted = figures();
      await group.end();
      return { code: final, outOfMemory: wasOutOfMemory(final, counted), ...counted };
    };
    return {
      ...(stdin === undefined ? {} : { stdin }),
      stdout: output.stdout,
      stderr: output.stderr,
      exit: end(),
      kill: async (signal) => {
        // The number may be somebody else's by now.
        if (process.platform !== 'linux' || isRunning({ pid, startTime })) {
          // It leads a group of its own, in which is all that it started and that did not leave it.
          sendSignal(signal === 'SIGINT' ? -pid : pid, signal);
        }
        if (signal === 'SIGKILL') await this.#endTree(started, group);
      },
    };
  }

  protected async release(): Promise<void> {
    await this.#first?.launcher.abandon();
    await this.#parts.groups.remove();
    this.#parts.folder.close();
    await removeTree(this.#parts.home);
  }

  async #launch(command: Command, bash: string, { cgroup }: ProgramGroup): Promise<Started> {
    const { home, spec, capabilities } = this.#parts;
    const { launcher, orders } = await this.#takeLauncher(bash, command.stdin);
    const { child, exited, output } = launcher;
    try {
      // While it waits: what has ended cannot be asked any more.
      const pid = await launcher.started();
      const startTime = readStat(pid)?.startTime ?? '';
      const input = prepareInput(command.stdin, { here: home, there: home }, undefined);
      launcher.give(
        {
          steps: [
            ...input.steps,
            ...(cgroup?.entrances ?? []).map((joinCgroup) => ({ joinCgroup })),
            ...programRlimits(spec, capabilities, command.limits),
          ],
          program: command.argv,
          environment: command.env,
        },
        orders,
      );
      await launched(launcher.status);
      for (const file of [orders, input.file ?? orders]) rmSync(file, { force: true });
      return { pid, startTime, exited, output, ...(child.stdin === null ? {} : { stdin: child.stdin }) };
    } catch (error) {
      await launcher.abandon();
      throw notStarted(error);
    }
  }

  async #takeLauncher(bash: string, stdin: Command['stdin']): Promise<Waiting> {
    const first = this.#first;
    // It was started without anything to read from.
    if (!first?.launcher.isWaiting || stdin === 'stream') {
      return startLauncher(bash, this.#parts.home, await takeOutputPipes(undefined, stdin), stdin);
    }
    this.#first = undefined;
    return first;
  }

  /** Without bash there are no limits, and nothing closes what we inherited ourselves. */
  async #spawnBare({ argv, env, stdin }: Command): Promise<Started> {
    refuseInheritable();
    const output = await takeOutputPipes();
    const input =
      stdin === undefined ? 'ignore' : stdin === 'stream' ? 'pipe' : openInput(stdin, this.#parts.home);
    try {
      const [file = '', ...args] = argv;
      const child = spawn(file, args, {
        cwd: this.workspace,
        env: { ...env },
        detached: true,
        stdio: [input, output.child.stdout, output.child.stderr],
      });
      const exited = once(child, 'exit') as Launcher['exited'];
      exited.catch(() => {});
      output.closeChildEnds();
      const { pid } = child;
      if (pid === undefined) throw (await once(child, 'error'))[0];
      const startTime = readStat(pid)?.startTime ?? '';
      return { pid, startTime, exited, output, ...(child.stdin === null ? {} : { stdin: child.stdin }) };
    } catch (error) {
      output.destroy();
      throw notStarted(error);
    } finally {
      if (typeof input === 'number') closeSync(input);
    }
  }

  /** A name without a folder is looked up here: after the launcher, failing to start would be a program's exit. */
  #resolve({ argv: [file, ...args], env }: Command): Command['argv'] {
    return [findExecutable(file, env['PATH']) ?? file, ...args];
  }

  /** A cgroup knows all of its processes; without one they have to be looked for. */
  async #endTree({ pid, startTime }: Started, { cgroup }: ProgramGroup): Promise<void> {
    if (cgroup) return cgroup.killAll();
    const others = [...this.#leaders].filter((leader) => leader !== pid);
    await endTree({ pid, since: startTime, variables: marks(this.#parts.home), others });
  }
}

/** Waits for the launcher's word that the program starts now. */
async function launched(status: Readable): Promise<void> {
  let said = '';
  for await (const chunk of status) said += String(chunk);
  if (said.includes('"started":true')) return;
  throw new SandboxError(
    'SANDBOX_FAILED',
    `The process could not be prepared: ${said.trim() || 'no reason given'}`,
    {
      hint: 'Run: glovebox doctor',
    },
  );
}

/** Throws when this process holds descriptors that a program of its own would inherit. */
function refuseInheritable(): void {
  const leaking = inheritableDescriptors();
  if (leaking.length === 0) return;
  throw new SandboxError(
    'SANDBOX_FAILED',
    `Descriptors ${leaking.join(', ')} of this process would be inherited by the program.`,
    { hint: 'Install bash, which closes them, or start this process without them.', details: { leaking } },
  );
}

/** Descriptors above 2 without the close-on-exec flag. */
function inheritableDescriptors(): number[] {
  if (!existsSync('/proc/self/fdinfo')) return [];
  const CLOSE_ON_EXEC = 0o2000000;
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((descriptor) => descriptor > 2)
    .filter((descriptor) => {
      try {
        const flags =
          /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1] ?? '0';
        return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
      } catch {
        // The descriptor that listed the folder is gone by now.
        return false;
      }
    });
}

function readEnforced({ spec, groups, capabilities }: PlainParts): Enforced {
  const { limits } = spec.policy;
  const held = groups.whole?.held;
  const limit = (name: 'memoryMb' | 'processes' | 'cpu', value: number | null | undefined) => {
    const by = value == null ? ('none' as const) : capabilities.limits[name];
    return { value: by === 'none' ? null : (value ?? null), by, default: limits[name]?.default ?? true };
  };
  return {
    isolation: 'process',
    network: 'open',
    filesystem: 'host',
    processes: capabilities.processes,
    seccomp: false,
    uid: process.getuid?.() ?? null,
    limits: {
      memoryMb: limit(
        'memoryMb',
        capabilities.limits.memoryMb === 'cgroup'
          ? held?.memoryBytes == null
            ? null
            : held.memoryBytes / 1024 ** 2
          : limits.memoryMb.value,
      ),
      diskMb: { value: null, by: 'none', default: limits.diskMb.default },
      processes: limit('processes', held?.processes),
      cpu: limit('cpu', held?.cpuCores),
      timeoutSec: { value: limits.timeoutSec.value, by: 'timer', default: limits.timeoutSec.default },
    },
  };
}

function signalNumber(signal: NodeJS.Signals | null): number {
  return signal === null ? 9 : (constants.signals[signal] ?? 9);
}
