import { constants } from 'node:os';
import { getSystemErrorName } from 'node:util';
import { SandboxError } from '../../errors.ts';
import { type Figures, KILLED, startCounting, wasOutOfMemory } from '../host/figures.ts';
import type { Launcher } from '../host/launch.ts';
import { childrenOf, firstChild, type Identity, sendIfRunning, untilGone } from '../host/namespaceInit.ts';
import { readProc, readStat, sendSignal } from '../host/procfs.ts';
import type { ProgramGroup } from '../host/programGroups.ts';
import type { Exit, GuestProcess } from '../runtime.ts';
import type { Bundle } from './control.ts';
import type { End } from './report.ts';

/** A kernel of gVisor's that was started for one program, and what there is of it on the host. */
export class Started {
  readonly launcher: Launcher;
  readonly bundle: Bundle;
  readonly #group: ProgramGroup;
  readonly #unshare: Identity;
  /** The first process of the namespace that it made: that became runsc, and everything ends with it. */
  readonly #init: Identity;
  #figures: () => Figures;
  #signalled: 'SIGTERM' | 'SIGKILL' | undefined;

  constructor(launcher: Launcher, group: ProgramGroup, bundle: Bundle, figures: () => Figures) {
    this.launcher = launcher;
    this.bundle = bundle;
    this.#group = group;
    const { pid } = launcher.child;
    this.#unshare = identityOf(pid);
    this.#init = identityOf(pid && firstChild(pid));
    this.#figures = figures;
  }

  /** Counts only what comes from here on. */
  countAnew(): void {
    this.#figures = startCounting(this.#group.cgroup);
  }

  /** What its start took of the share of processor time is the program's again. */
  refill(): void {
    this.#group.cgroup?.refill();
  }

  /** As `GuestProcess.kill`. */
  async kill(signal: Parameters<GuestProcess['kill']>[0]): Promise<void> {
    if (signal !== 'SIGINT') this.#signalled = signal;
    if (signal === 'SIGKILL') return this.#kill();
    const kernel = kernelBelow(this.#init.pid);
    if (kernel !== undefined) sendSignal(kernel, signal);
  }

  /** Waits for its end by itself. Rejects with `SANDBOX_FAILED` when nobody can tell how its program ended. */
  async end(beforeCounting: () => Promise<void>): Promise<Exit> {
    try {
      await this.launcher.exited;
      sendIfRunning(this.#init, 'SIGKILL');
      await untilGone(this.#init);
      await beforeCounting();
      const counted = this.#figures();
      await this.#group.end();
      return describeExit(this.bundle.readEnd(), counted, this.#signalled);
    } finally {
      this.bundle.remove();
    }
  }

  /** How a program ended of which the first process said that it had this code. */
  describe(code: number): Exit {
    return describeExit({ report: { code }, complaint: undefined }, this.#figures(), this.#signalled);
  }

  /** Ends all of it, whatever still runs in it; resolves when it is gone. */
  async tearDown(): Promise<void> {
    this.#signalled = 'SIGKILL';
    this.#kill();
    await this.end(async () => {});
  }

  #kill(): void {
    // unshare first, and not by asking who started it: it would complain, in the program's own output, about the end of what
    // it started.
    sendIfRunning(this.#unshare, 'SIGKILL');
    sendIfRunning(this.#init, 'SIGKILL');
  }
}

/** Of none, and of one that is gone already, it is one that never runs. */
function identityOf(pid = 0): Identity {
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

/** What is thrown when the isolation itself failed. */
export function isolationFailed(reason: string | undefined, cause?: unknown): SandboxError {
  return new SandboxError(
    'SANDBOX_FAILED',
    `gVisor could not hold the sandbox: ${reason || 'it ended before its program did'}`,
    { hint: 'Run: glovebox doctor --verify gvisor', cause },
  );
}
