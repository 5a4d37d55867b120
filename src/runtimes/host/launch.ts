import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { SandboxError } from '../../errors.ts';
import type { Command } from '../runtime.ts';
import { bashCommand, sendToBash } from './bashLauncher.ts';
import { notStarted } from './hostGuest.ts';
import { type LaunchStep, ORDERS_FD, type Orders, STATUS_FD } from './launcher.ts';
import type { OutputPipes } from './pipes.ts';
import { readStat } from './procfs.ts';
import type { HostProcess } from './starter/hostProcess.ts';
import { startByStarter } from './starter/startByStarter.ts';

/** What a launcher that enters nothing has to itself. */
export type MadeNamespaces = 'nothing' | 'mounts' | 'user and mounts';

export interface LauncherSpec {
  readonly bash: string;
  /** The command that makes or enters namespaces, at the end of which it is told what to run there; none for none. */
  readonly enter: readonly string[];
  /** What that makes, where a process of ours can do as much by itself. */
  readonly makes?: MadeNamespaces;
  /** What it does at once. */
  readonly steps: readonly LaunchStep[];
  /** Where it looks for its orders, as a path of its own. */
  readonly orders: string;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** A descriptor where the program's own standard input is made already; it stays the caller's. */
  readonly stdin: Command['stdin'] | number;
  /** What will be the program's standard output and error; given up with the launcher. */
  readonly output: OutputPipes;
  /** Passed on after the ones of the launcher itself. */
  readonly descriptors?: readonly (number | 'ignore')[];
}

/**
 * A launcher that was started and waits to become a program. It does not keep this process alive before it has
 * its orders, and ends by itself when this process does.
 */
export class Launcher {
  readonly child: HostProcess;
  readonly output: OutputPipes;
  readonly status: Socket;
  /** Rejects when it could not be started at all. */
  readonly exited: Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  readonly #orders: Socket;
  readonly #send: StartedLauncher['send'];

  private constructor({ child, status, orders, send }: StartedLauncher, output: OutputPipes) {
    this.child = child;
    this.output = output;
    this.status = status;
    this.#orders = orders;
    this.#send = send;
    // Listened to from the very start: a short program has ended before anything else is known of it.
    this.exited = once(child, 'exit') as typeof this.exited;
    this.exited.catch(() => {});
    // EPIPE: it has given up, and says why on its status.
    orders.on('error', () => {});
    this.holdUs(false);
  }

  /** Throws `SANDBOX_FAILED` when this system starts nothing more. */
  static start(spec: LauncherSpec): Launcher {
    const { output } = spec;
    try {
      return new Launcher(startByStarter(spec) ?? startByNode(spec), output);
    } catch (error) {
      output.destroy();
      throw notStarted(error);
    }
  }

  /** Its pid, as soon as that is known. Rejects when it could not be started at all. */
  async started(): Promise<number> {
    const { child } = this;
    if (child.pid === undefined) await Promise.race([once(child, 'spawn'), this.exited]);
    return child.pid as number;
  }

  /** False when somebody has ended it: the kernel knows before we are told. */
  get isWaiting(): boolean {
    const { pid, exitCode, signalCode } = this.child;
    if (exitCode !== null || signalCode !== null) return false;
    return (
      process.platform !== 'linux' || pid === undefined || ![undefined, 'Z'].includes(readStat(pid)?.state)
    );
  }

  /**
   * Sends it off with these orders, by way of `file`, which is where it was told to look, as we reach it. Throws
   * `INPUT_INVALID` for what no program can be given; then it still waits.
   */
  give(orders: Orders, file: string): void {
    assertFits(orders.program, orders.environment);
    const bytes = this.#send(orders, file);
    this.holdUs(true);
    this.#orders.end(bytes);
  }

  /** What it became is no reason for this process to go on; it ends with us, as before it had its orders. */
  letGo(): void {
    this.holdUs(false);
    this.output.stdout.unref();
    this.output.stderr.unref();
  }

  /** Lets it end without a program; resolves when it has. */
  async abandon(): Promise<void> {
    this.holdUs(true);
    this.#orders.destroy();
    this.status.resume();
    await this.exited.catch(() => {});
    this.output.destroy();
  }

  /** Whether it, or the program that it became, keeps this process alive. */
  holdUs(holds: boolean): void {
    const how = holds ? 'ref' : 'unref';
    for (const held of [this.child, this.status, this.#orders]) held[how]();
  }
}

/** Started, with the ends of its descriptors that are ours. */
export interface StartedLauncher {
  readonly child: HostProcess;
  readonly status: Socket;
  readonly orders: Socket;
  /** Puts the orders where it looks for them; what it answers is for its descriptor. */
  readonly send: (orders: Orders, file: string) => string | Uint8Array;
}

function startByNode({
  environment,
  stdin,
  output,
  descriptors = [],
  cwd,
  ...launcher
}: LauncherSpec): StartedLauncher {
  const [file = '', ...args] = bashCommand(launcher);
  const child = spawn(file, args, {
    cwd,
    env: { ...environment },
    // A session of its own: no controlling terminal, and Ctrl-C is for us, who then end it in good order.
    detached: true,
    stdio: [
      stdin === 'stream' ? 'pipe' : typeof stdin === 'number' ? stdin : 'ignore',
      ...[output.child.stdout, output.child.stderr, 'pipe' as const, 'pipe' as const, ...descriptors],
    ],
  });
  // Too many open files: Node tells of it later, and gives no pipes.
  if (!child.stdio?.[ORDERS_FD]) {
    child.once('error', () => {});
    throw new Error('too many files are open, here or in the whole system');
  }
  output.closeChildEnds();
  const pipe = (descriptor: number): Socket => child.stdio[descriptor] as Socket;
  return { child, status: pipe(STATUS_FD), orders: pipe(ORDERS_FD), send: sendToBash };
}

/** What the kernel takes for one argument or variable (`MAX_ARG_STRLEN`), and always takes in all. */
const LONGEST = 128 * 1024;
/** What it takes at most in all: three quarters of the usual stack of eight megabytes (execve(2)). */
const MOST = 6 * 1024 * 1024;
/** For what the launcher adds. */
const SPARE = 8 * 1024;

/**
 * Throws `INPUT_INVALID` for what the kernel would refuse at the very end, when only the program's reader could
 * be told.
 */
export function assertFits(
  program: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): void {
  const words = [...program, ...Object.entries(environment).map(([name, value]) => `${name}=${value}`)];
  const sizes = words.map((word) => Buffer.byteLength(word) + 1);
  const total = sizes.reduce((sum, size) => sum + size + 8, SPARE);
  if (sizes.every((size) => size <= LONGEST) && (total <= LONGEST || total <= mostInAll())) return;
  throw new SandboxError('INPUT_INVALID', 'The arguments and variables are too long for this system.', {
    hint: 'Pass long input as a file or on standard input.',
  });
}

function mostInAll(): number {
  if (process.platform !== 'linux') return 1024 * 1024;
  const [, stack] =
    /^Max stack size\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  const quarter = stack === 'unlimited' ? MOST : Number(stack) / 4;
  return Math.max(LONGEST, Math.min(quarter, MOST));
}
