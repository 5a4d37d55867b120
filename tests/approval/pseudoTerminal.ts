import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { eventually } from '../support/eventually.ts';

const PROGRAM = join(import.meta.dirname, '../programs/approval/pseudo-terminal.py');

/** Why there is no pseudo terminal to be had, or undefined. */
export function missingForTerminals(): string | undefined {
  try {
    execFileSync('python3', ['-c', 'import fcntl, os, pty, termios; pty.openpty()'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'there is no python3 that can open a pseudo terminal';
  }
}

/** A terminal of the system's own kind, with us in the place of the person. */
export class PseudoTerminal implements AsyncDisposable {
  /** The device that a program opens. */
  readonly path: string;
  readonly #helper: ChildProcess;
  readonly #chunks: Buffer[] = [];
  readonly #printed: Promise<string>;

  /** With a command, that is run in a session which the terminal controls. */
  static async open(...command: string[]): Promise<PseudoTerminal> {
    const helper = spawn('python3', [PROGRAM, ...command], {
      stdio: ['pipe', 'pipe', 'inherit', 'pipe', 'pipe'],
      cwd: join(import.meta.dirname, '../..'),
    });
    const [name] = (await once(helper.stdio[3] as Readable, 'data')) as [Buffer];
    return new PseudoTerminal(name.toString().trim(), helper);
  }

  private constructor(path: string, helper: ChildProcess) {
    this.path = path;
    this.#helper = helper;
    helper.stdout?.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
    this.#printed = text(helper.stdio[4] as Readable);
  }

  /** All that has come to the screen. */
  get screen(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }

  type(keys: string): void {
    this.#helper.stdin?.write(keys);
  }

  async shows(what: string, times = 1): Promise<void> {
    await eventually(`the screen shows ${what}`, () => this.screen.split(what).length > times);
  }

  /** Nobody takes from it what is written, until it is thawed. */
  freeze(): void {
    this.#helper.kill('SIGSTOP');
  }

  thaw(): void {
    this.#helper.kill('SIGCONT');
  }

  /** How the terminal treats what is typed. */
  modes(): string {
    return execFileSync('stty', ['-a', '-F', this.path], { encoding: 'utf8' });
  }

  /** What the command printed, when it has ended. */
  printed(): Promise<string> {
    return this.#printed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#helper.stdin?.end();
    if (this.#helper.exitCode === null && this.#helper.signalCode === null) await once(this.#helper, 'exit');
  }
}
