/** One stateful context: a kernel inside a guest that runs one cell after another. Written once, for all runtimes. */

import { randomBytes } from 'node:crypto';
import { SandboxError } from '../errors.ts';
import { KERNELS, type Kernel } from '../languages/kernels/kernel.ts';
import type { LanguageName } from '../languages/language.ts';
import type { ContextDetails, RichResult } from '../result/contextExecution.ts';
import type { OnOutput } from '../result/output.ts';
import type { Exit, Guest, GuestProcess, ProgramLimits } from '../runtimes/runtime.ts';
import { ContextCell, type ContextCellOptions } from './contextCell.ts';
import type { Done } from './contextMessages.ts';
import { ContextStream } from './contextStream.ts';
import { onAbort } from './onAbort.ts';
import { programEnvironment } from './programEnvironment.ts';
import type { RunOutcome } from './run.ts';

export interface ContextOptions {
  readonly language: LanguageName;
  /** Beside the variables that every program of the guest gets. */
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: ProgramLimits;
  readonly signal?: AbortSignal;
}

export interface CellRequest {
  readonly code: string;
  readonly timeoutSec: number;
  readonly maxOutputBytes: number;
  /** For all rich results of the cell together; 8 MB by default, and at most. */
  readonly maxResultBytes?: number;
  readonly signal?: AbortSignal;
  readonly onOutput?: OnOutput;
  /** Results as they come; all of them are in the outcome as well. */
  readonly onResult?: (result: RichResult) => void;
}

export interface CellOutcome extends RunOutcome, ContextDetails {}

const MAX_RESULT_BYTES = 8 * 1024 * 1024;
/** What a message may have beside the results in it. */
const MESSAGE_ROOM = 1024 * 1024;
/** How long a kernel may take to be ready. */
const START_MS = 60_000;
/**
 * A signal can come at a moment at which whoever waits does not see it: just before a program sleeps, just as a shell
 * has forked a child. So it is sent again.
 */
const INTERRUPT_AGAIN_MS = [500, 1000];
/**
 * How long an interrupt may be on its way where others hand it on. In gVisor that is its kernel, which has no share of
 * processor time left for it when the program computes; more than half a second was seen on a busy machine.
 */
const LATE_MS = 2000;
/** What the kernels call the error of a cell that an interrupt has ended. */
const INTERRUPTED: readonly string[] = ['KeyboardInterrupt', 'Interrupted'];
/** Between an interrupt that was not heeded and the end of the context. */
const GRACE_MS = 2000;
/** How long a context that is closed has to end by itself. */
const CLOSE_MS = 1000;
/** How long a kernel that was killed may take to be gone. */
const KILL_MS = 15_000;

/** Keeps variables, imports, functions and the working folder from one execution to the next. */
export class LanguageContext {
  readonly language: LanguageName;
  readonly interpreterVersion: string;
  readonly #kernel: Kernel;
  readonly #process: GuestProcess;
  readonly #streams: readonly ContextStream[];
  /** Settles, after the kernel's end, when all that it printed was read. */
  readonly #gone: Promise<Exit>;
  #queue: Promise<unknown> = Promise.resolve();
  #count = 0;
  #cell: ContextCell | undefined;
  #ended: string | undefined;
  #closing: Promise<void> | undefined;
  #killing: NodeJS.Timeout | undefined;
  /** Ends the wait for a kernel that was killed and does not end. */
  #giveUp: (error: Error) => void = () => {};
  /** The interrupts that are under way. */
  #signal: Promise<unknown> = Promise.resolve();
  /** How many were sent for the last cell, and when the last of them may be late no more. */
  #sent = { count: 0, arrivedBy: 0 };

  private constructor(language: LanguageName, version: string, kernel: Kernel, process: GuestProcess) {
    this.language = language;
    this.interpreterVersion = version;
    this.#kernel = kernel;
    this.#process = process;
    // EPIPE: the kernel has ended, which everybody is told anyway.
    process.stdin?.on('error', () => {});
    this.#streams = (['stdout', 'stderr'] as const).map(
      (name) =>
        new ContextStream(name, process[name], {
          maxMessageBytes: MAX_RESULT_BYTES + MESSAGE_ROOM,
          isTaken: () => this.#cell?.takes(name) ?? false,
          take: (bytes) => this.#cell?.take(name, bytes),
          hear: (kind, payload) => this.#cell?.hear(name, kind, payload),
        }),
    );
    this.#gone = this.#watch();
    // Whoever executes something is told.
    this.#gone.catch(() => {});
  }

  /** Starts the kernel; resolves when it is ready. Throws `LANGUAGE_UNAVAILABLE` or `SANDBOX_FAILED`. */
  static async create(guest: Guest, options: ContextOptions): Promise<LanguageContext> {
    const { language, env = {}, limits, signal } = options;
    signal?.throwIfAborted();
    const kernel = KERNELS[language];
    const interpreters = await Promise.all(kernel.needs.map((name) => guest.interpreter(name)));
    const process = await guest.spawn({
      argv: kernel.command(
        interpreters.map(({ path }) => path),
        guest.environment['TMPDIR'] ?? '/tmp',
        randomBytes(8).toString('hex'),
      ),
      env: { ...programEnvironment(guest), ...env },
      stdin: 'stream',
      ...(limits === undefined ? {} : { limits }),
    });
    const context = new LanguageContext(language, interpreters[0]?.version ?? '', kernel, process);
    try {
      await context.#start(signal);
      return context;
    } catch (error) {
      await context.close();
      throw error;
    }
  }

  /** Why there will be no further execution, in a whole sentence; undefined while the context lives. */
  get ended(): string | undefined {
    return this.#ended;
  }

  /** How many cells have been run. */
  get executionCount(): number {
    return this.#count;
  }

  /** Settles when the context has ended, for whatever reason; never rejects. */
  get closed(): Promise<void> {
    return this.#gone.then(
      () => {},
      () => {},
    );
  }

  /**
   * Runs one cell; cells of one context run one after another, in the order of the calls. Rejects with
   * `SANDBOX_CLOSED` when the context has ended before, with `SANDBOX_FAILED` when the isolation itself failed, and
   * with what `onOutput` or `onResult` threw: the cell is interrupted then, and the context stays.
   */
  execute(request: CellRequest): Promise<CellOutcome> {
    const turn = this.#queue.then(() => this.#execute(request));
    this.#queue = turn.catch(() => {});
    return turn;
  }

  /** Interrupts what runs, as Ctrl-C does; the state stays. Resolves to whether anything did run. */
  async interrupt(): Promise<boolean> {
    const cell = this.#cell;
    if (cell === undefined) return false;
    this.#interrupt(cell);
    await this.#signal;
    return true;
  }

  /** Ends the kernel and all that it started; safe to call twice. */
  close(): Promise<void> {
    this.#ended ??= 'It was closed.';
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #start(signal: AbortSignal | undefined): Promise<void> {
    const token = newToken();
    const cell = this.#begin(token, { maxOutputBytes: 4000, maxResultBytes: 0 });
    const deadline = new Deadline(START_MS, signal);
    try {
      this.#process.stdin?.write(this.#kernel.hello(token));
      const end = await Promise.race([cell.done, this.#gone, deadline.over]);
      if (end !== undefined && !('code' in end)) return;
      signal?.throwIfAborted();
      const why = end === undefined ? `it was not ready after ${START_MS / 1000} seconds` : howItEnded(end);
      const said = cell.captured('stderr').text.trim();
      throw new SandboxError(
        'SANDBOX_FAILED',
        `The ${this.language} context did not start: ${why}${said === '' ? '' : ` (${said})`}`,
        { hint: 'Run: glovebox doctor', details: { stderr: said } },
      );
    } finally {
      deadline.dispose();
      this.#cell = undefined;
    }
  }

  async #execute(request: CellRequest): Promise<CellOutcome> {
    const { timeoutSec, signal } = request;
    if (this.#ended !== undefined) throw this.#closedError();
    await this.#awaitLateSignals(signal);
    if (this.#ended !== undefined) throw this.#closedError();
    if (signal?.aborted) return this.#notStarted();
    const maxResultBytes = Math.min(request.maxResultBytes ?? MAX_RESULT_BYTES, MAX_RESULT_BYTES);
    const token = newToken();
    const text = await this.#kernel.request({
      ...{ token, count: this.#count + 1, code: request.code, maxResultBytes },
    });
    this.#count++;
    const startedAt = performance.now();
    const cell = this.#begin(token, {
      ...{ maxOutputBytes: request.maxOutputBytes, maxResultBytes },
      ...{ onOutput: request.onOutput, onResult: request.onResult },
      onFailure: () => ending.end('cancelled'),
    });
    const ending = new Ending(timeoutSec, signal, {
      interrupt: () => this.#interrupt(cell),
      kill: (why) => {
        this.#ended ??= why;
        this.#kill();
      },
    });
    try {
      for (const stream of this.#streams) {
        const between = stream.takeBetween();
        if (between.length > 0) await cell.take(stream.name, between);
      }
      this.#process.stdin?.write(text);
      const end = await Promise.race([cell.done, this.#gone]);
      const durationSec = (performance.now() - startedAt) / 1000;
      ending.dispose();
      cell.dispose();
      await cell.finish();
      // An interrupt that is under way must not reach the next cell.
      await this.#signal;
      // What ended the cell has come.
      if ('error' in end && INTERRUPTED.includes(end.error?.name ?? '')) this.#sent.count--;
      if (cell.failure !== undefined) throw cell.failure.error;
      const ended = 'code' in end ? this.#ended : undefined;
      return {
        ...describe(end, ending.reason),
        durationSec,
        stdout: cell.captured('stdout'),
        stderr: cell.captured('stderr', notice(ending.reason, timeoutSec, ended)),
        results: cell.results,
        resultsLeftOut: cell.resultsLeftOut,
        executionCount: this.#count,
        ...(ended === undefined ? {} : { ended }),
      };
    } finally {
      ending.dispose();
      cell.dispose();
      this.#cell = undefined;
    }
  }

  #begin(token: string, options: ContextCellOptions): ContextCell {
    const cell = new ContextCell(token, options);
    this.#cell = cell;
    for (const stream of this.#streams) stream.expect(token);
    return cell;
  }

  /** An interrupt that comes before the kernel has begun with the cell would be lost. */
  #interrupt(cell: ContextCell): void {
    const send = (): void => {
      if (this.#cell !== cell || cell.isOver) return;
      const said = this.#kernel.interrupt?.(cell.token);
      if (said !== undefined) this.#process.stdin?.write(said);
      this.#sent = { count: this.#sent.count + 1, arrivedBy: performance.now() + LATE_MS };
      const sent = this.#process.kill('SIGINT').catch(() => {
        // It is gone already, which its exit tells.
      });
      // An engine takes its time, and an earlier one may still be under way.
      this.#signal = Promise.all([this.#signal, sent]);
    };
    cell.whenStarted(() => {
      send();
      cell.later(INTERRUPT_AGAIN_MS, send);
    });
  }

  /** Resolves when what was sent for an earlier cell cannot reach the next one any more. */
  async #awaitLateSignals(signal: AbortSignal | undefined): Promise<void> {
    const { count, arrivedBy } = this.#sent;
    const left = arrivedBy - performance.now();
    if (count > 0 && left > 0 && this.#process.signalsComeLate) {
      const late = new Deadline(left, signal);
      await Promise.race([this.closed, late.over]);
      late.dispose();
    }
    // Of a cell that was given up meanwhile they would be lost.
    if (!signal?.aborted) this.#sent = { count: 0, arrivedBy: 0 };
  }

  #kill(): void {
    this.#killing ??= setTimeout(() => {
      const message = `The ${this.language} context was killed, and had not ended after ${KILL_MS / 1000} seconds.`;
      this.#giveUp(new SandboxError('SANDBOX_FAILED', message, { hint: 'Run: glovebox doctor' }));
    }, KILL_MS);
    this.#process.kill('SIGKILL').catch(() => {
      // A kill that fails shows in the exit, which everybody waits for until the deadline.
    });
  }

  async #close(): Promise<void> {
    // At the end of its input a kernel ends by itself, unless a cell runs.
    this.#process.stdin?.end();
    const patience = new Deadline(this.#cell === undefined ? CLOSE_MS : 0);
    await Promise.race([this.closed, patience.over]);
    patience.dispose();
    this.#kill();
    await this.closed;
  }

  /** Waits for the kernel's end, then for what is left of its output. */
  async #watch(): Promise<Exit> {
    try {
      const exit = await Promise.race([
        this.#process.exit,
        new Promise<never>((_, reject) => {
          this.#giveUp = reject;
        }),
      ]);
      await Promise.all(this.#streams.map((stream) => stream.drain()));
      this.#ended ??= howItEnded(exit);
      return exit;
    } catch (error) {
      this.#ended ??= 'Its isolation failed.';
      throw error;
    } finally {
      clearTimeout(this.#killing);
      this.#process.stdin?.destroy();
      for (const stream of this.#streams) stream.destroy();
    }
  }

  #notStarted(): CellOutcome {
    const nothing = { text: '', bytes: 0, truncated: false };
    return {
      ...{ outcome: 'cancelled', exitCode: 130, durationSec: 0, stdout: nothing, stderr: nothing },
      ...{ results: [], resultsLeftOut: 0, executionCount: this.#count },
    };
  }

  #closedError(): SandboxError {
    const { language } = this;
    return new SandboxError('SANDBOX_CLOSED', `The ${language} context has ended. ${this.#ended}`, {
      hint: `Make a new one with sandbox.context('${language}'); its variables are gone, the files in the workspace are not.`,
      details: { language, reason: this.#ended },
    });
  }
}

function describe(
  end: Done | Exit,
  reason: Reason | undefined,
): Pick<CellOutcome, 'outcome' | 'exitCode' | 'killedBy' | 'signal' | 'oomKills' | 'usage' | 'error'> {
  const known =
    'code' in end
      ? {
          ...(end.oomKills ? { oomKills: end.oomKills } : {}),
          ...(end.usage === undefined ? {} : { usage: end.usage }),
        }
      : end.error === undefined
        ? {}
        : { error: end.error };
  if (reason === 'timeout') return { ...known, outcome: 'timed_out', exitCode: -1, killedBy: 'timeout' };
  if (reason === 'cancelled') return { ...known, outcome: 'cancelled', exitCode: 130 };
  if (!('code' in end)) return { ...known, outcome: 'exited', exitCode: end.exitCode };
  if (end.outOfMemory) return { ...known, outcome: 'out_of_memory', exitCode: 137, killedBy: 'memory' };
  if (isSignal(end.code)) {
    return { ...known, outcome: 'killed', exitCode: end.code, signal: end.code - 128 };
  }
  return { ...known, outcome: 'exited', exitCode: end.code };
}

/** What stands at the end of `stderr`; `ended` says why the context is no more. */
function notice(
  reason: Reason | undefined,
  timeoutSec: number,
  ended: string | undefined,
): string | undefined {
  const after = ended === undefined ? undefined : `The context has ended. ${ended}`;
  if (reason === 'timeout') {
    const kept = 'It was interrupted; the context keeps its state.';
    return `Execution timed out after ${timeoutSec} seconds. ${after ?? kept}\n`;
  }
  return after === undefined ? undefined : `${after}\n`;
}

function howItEnded(exit: Exit): string {
  if (exit.outOfMemory) return 'It needed more memory than it may have, and was killed.';
  if (isSignal(exit.code)) return `It was ended by signal ${exit.code - 128}.`;
  return `Its program ended with ${exit.code}.`;
}

/** As everywhere: 128+n is signal n. */
function isSignal(code: number): boolean {
  return code > 128 && code <= 192;
}

function newToken(): string {
  return randomBytes(16).toString('hex');
}

type Reason = 'timeout' | 'cancelled';

/** Ends a cell at the deadline or when it is cancelled: by an interrupt, then together with its context. */
class Ending {
  reason: Reason | undefined;
  readonly #actions: { interrupt(): void; kill(why: string): void };
  readonly #stopListening: () => void;
  readonly #deadline: NodeJS.Timeout;
  #grace: NodeJS.Timeout | undefined;
  #disposed = false;

  constructor(
    timeoutSec: number,
    signal: AbortSignal | undefined,
    actions: { interrupt(): void; kill(why: string): void },
  ) {
    this.#actions = actions;
    this.#deadline = setTimeout(() => this.end('timeout'), timeoutSec * 1000);
    this.#stopListening = onAbort(signal, () => this.end('cancelled'));
  }

  end(reason: Reason): void {
    if (this.reason !== undefined || this.#disposed) return;
    this.reason = reason;
    this.#actions.interrupt();
    const when = reason === 'timeout' ? 'when its time was over' : 'when the execution was cancelled';
    const why = `It did not stop within ${GRACE_MS / 1000} seconds ${when}, and was killed.`;
    this.#grace = setTimeout(() => this.#actions.kill(why), GRACE_MS);
  }

  dispose(): void {
    this.#disposed = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#grace);
    this.#stopListening();
  }
}

/** A time that is over at some point, or earlier when it is disposed of or aborted. */
class Deadline {
  readonly over: Promise<undefined>;
  readonly #stopListening: () => void;
  #timer: NodeJS.Timeout | undefined;
  #end: () => void = () => {};

  constructor(ms: number, signal?: AbortSignal) {
    this.over = new Promise((resolve) => {
      this.#end = () => resolve(undefined);
    });
    this.#timer = setTimeout(this.#end, ms);
    this.#stopListening = onAbort(signal, this.#end);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#stopListening();
    this.#end();
  }
}
