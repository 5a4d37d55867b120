import { EventEmitter } from 'node:events';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import { getSystemErrorName } from 'node:util';

/** A process of this host: what a `ChildProcess` and a {@link StartedProcess} have in common. */
export interface HostProcess extends EventEmitter {
  /** Undefined while it is not known yet, and when nothing was started. */
  readonly pid?: number | undefined;
  readonly exitCode: number | null;
  readonly signalCode: NodeJS.Signals | null;
  readonly stdin: Writable | null;
  /** Does nothing when it has ended. */
  kill(signal: NodeJS.Signals): boolean;
  ref(): void;
  unref(): void;
}

/** What a process asks of the starter that started it. */
export interface Keeper {
  /** Whether it is a reason for this process to go on has changed. */
  holdChanged(): void;
  signal(pid: number, signal: number): void;
}

/** A process that the starter started. It emits `spawn` and then `exit`, or `error` when there is no program. */
export class StartedProcess extends EventEmitter implements HostProcess {
  pid: number | undefined;
  exitCode: number | null = null;
  signalCode: NodeJS.Signals | null = null;
  readonly file: string;
  readonly stdin: Writable | null;
  readonly #keeper: Keeper;
  #isHeld = true;

  constructor(file: string, stdin: Writable | null, keeper: Keeper) {
    super();
    this.file = file;
    this.stdin = stdin;
    this.#keeper = keeper;
  }

  /** Whether it is a reason for this process to go on: until it has started, it always is. */
  get isHeld(): boolean {
    return !this.#isOver && (this.#isHeld || this.pid === undefined);
  }

  get #isOver(): boolean {
    return this.exitCode !== null || this.signalCode !== null;
  }

  kill(signal: NodeJS.Signals): boolean {
    if (this.#isOver) return false;
    const send = (): void => this.#keeper.signal(this.pid ?? 0, constants.signals[signal]);
    if (this.pid === undefined) this.once('spawn', send);
    else send();
    return true;
  }

  ref(): void {
    this.#isHeld = true;
    this.#keeper.holdChanged();
  }

  unref(): void {
    this.#isHeld = false;
    this.#keeper.holdChanged();
  }

  /** To be called when there is a process. */
  hasStarted(pid: number): void {
    this.pid = pid;
    this.emit('spawn');
  }

  /** To be called when it did not become the program. */
  hasFailed(error: NodeJS.ErrnoException): void {
    if (this.#isOver) return;
    this.exitCode = error.errno ?? -1;
    this.stdin?.destroy();
    this.emit('error', error);
  }

  /** To be called when it has ended. */
  hasExited(code: number | null, signal: number | null): void {
    if (this.#isOver) return;
    this.exitCode = code;
    this.signalCode = signal === null ? null : signalName(signal);
    // Nobody reads it any more, and nothing else would tell: as `node:child_process` does it.
    this.stdin?.destroy();
    this.emit('exit', this.exitCode, this.signalCode);
  }
}

/** The error that `node:child_process` gives for the same. */
export function startError(errno: number, file: string): NodeJS.ErrnoException {
  const code = getSystemErrorName(-errno);
  const error = new Error(`spawn ${file} ${code}`);
  return Object.assign(error, { code, errno: -errno, syscall: `spawn ${file}`, path: file });
}

function signalName(number: number): NodeJS.Signals {
  const found = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  // A real-time signal has no name here; it was ended from outside all the same.
  return (found ?? 'SIGKILL') as NodeJS.Signals;
}
