import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { SandboxError } from '../../errors.ts';
import type { Command } from '../runtime.ts';
import { notStarted } from './hostGuest.ts';
import { ORDERS_FD, type Orders, STATUS_FD, writeOrders } from './launcher.ts';
import type { OutputPipes } from './pipes.ts';

export interface LauncherSpec {
  /** The whole command line, with what `launcherArguments` makes at its end. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: Command['stdin'];
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
  readonly child: ChildProcess;
  readonly output: OutputPipes;
  /** Rejects when it could not be started at all. */
  readonly exited: Promise<[code: number | null, signal: NodeJS.Signals | null]>;

  private constructor(child: ChildProcess, output: OutputPipes) {
    this.child = child;
    this.output = output;
    // Listened to from the very start: a short program has ended before anything else is known of it.
    this.exited = once(child, 'exit') as typeof this.exited;
    this.exited.catch(() => {});
    // Too many open files: Node tells of it later, and gives no pipes.
    if (!child.stdio?.[ORDERS_FD]) throw new Error('too many files are open, here or in the whole system');
    output.closeChildEnds();
    // EPIPE: it has given up, and says why on its status.
    this.#pipe(ORDERS_FD).on('error', () => {});
    this.#hold('unref');
  }

  /** Throws `SANDBOX_FAILED` when this system starts nothing more. */
  static start({ argv, cwd, environment, stdin, output, descriptors = [] }: LauncherSpec): Launcher {
    const [file = '', ...args] = argv;
    try {
      const child = spawn(file, args, {
        cwd,
        env: { ...environment },
        // A session of its own: no controlling terminal, and Ctrl-C is for us, who then end it in good order.
        detached: true,
        stdio: [
          stdin === 'stream' ? 'pipe' : 'ignore',
          ...[output.child.stdout, output.child.stderr, 'pipe' as const, 'pipe' as const, ...descriptors],
        ],
      });
      return new Launcher(child, output);
    } catch (error) {
      output.destroy();
      throw notStarted(error);
    }
  }

  get status(): Socket {
    return this.#pipe(STATUS_FD);
  }

  /** False when somebody has ended it. */
  get isWaiting(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /**
   * Writes the orders to `file`, which is where it was told to look, and sends it off. Throws `INPUT_INVALID`
   * for what no program can be given; then it still waits.
   */
  give(orders: Orders, file: string): void {
    assertFits(orders.program, orders.environment);
    const { text, variables } = writeOrders(orders);
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
    this.#hold('ref');
    this.#pipe(ORDERS_FD).end(`\n${variables}`);
  }

  /** What it became is no reason for this process to go on; it ends with us, as before it had its orders. */
  letGo(): void {
    this.#hold('unref');
    this.output.stdout.unref();
    this.output.stderr.unref();
  }

  /** Lets it end without a program; resolves when it has. */
  async abandon(): Promise<void> {
    this.#hold('ref');
    this.#pipe(ORDERS_FD).destroy();
    this.status.resume();
    await this.exited.catch(() => {});
    this.output.destroy();
  }

  #hold(how: 'ref' | 'unref'): void {
    this.child[how]();
    for (const descriptor of [STATUS_FD, ORDERS_FD]) this.#pipe(descriptor)[how]();
  }

  #pipe(descriptor: number): Socket {
    return this.child.stdio[descriptor] as Socket;
  }
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
