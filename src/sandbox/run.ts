/** One run of one command in a guest: deadline, output capture, cancellation and outcome, for all runtimes alike. */

import type { Readable } from 'node:stream';
import { isSandboxError, SandboxError } from '../errors.ts';
import type { OnOutput, OutputChunk } from '../result/output.ts';
import type { ExecutionMeta, Outcome } from '../result/result.ts';
import type { ByteSource, Command, Exit, Guest, GuestProcess, Usage } from '../runtimes/runtime.ts';
import { Capture, type Captured } from './capture.ts';
import { onAbort } from './onAbort.ts';
import { decodeStream } from './textStream.ts';

export interface RunRequest {
  readonly command: Omit<Command, 'stdin'>;
  /** Bytes, a stream that is copied, or `stream` where the caller writes himself. */
  readonly stdin?: Uint8Array | Readable | 'stream';
  /** Absent: no deadline of its own. */
  readonly timeoutSec?: number;
  readonly maxOutputBytes: number;
  readonly signal?: AbortSignal;
  /** Aborted when the sandbox's own time is over. */
  readonly lifetime?: AbortSignal;
  readonly onOutput?: OnOutput;
  /** Told once it was started. */
  readonly onSpawned?: () => void;
  /** Told of every chunk, which it may look at only until it returns. */
  readonly keep?: (stream: OutputChunk['stream'], chunk: Uint8Array) => void;
}

/** A program that was started. */
export interface Running {
  readonly program: GuestProcess;
  /** What of its output is kept so far. */
  readonly captured: { readonly [Name in OutputChunk['stream']]: Capture };
  /** Rejects only when the isolation itself failed. */
  readonly outcome: Promise<RunOutcome>;
  /** Ends it politely, then for good; its outcome is what it then makes of that. */
  stop(): void;
}

export interface RunOutcome {
  readonly outcome: Outcome;
  readonly exitCode: number;
  readonly durationSec: number;
  readonly stdout: Captured;
  readonly stderr: Captured;
  readonly signal?: number;
  readonly killedBy?: NonNullable<ExecutionMeta['killedBy']>;
  readonly oomKills?: number;
  readonly usage?: Usage;
}

/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 1000;

/**
 * After the whole tree has ended, what is left in the pipes is read, and no more: somebody may still hold one
 * open. Counted in rounds of the event loop in which nothing came, not in time: a loop that was held up has
 * not looked yet.
 */
const DRAIN_IDLE_ROUNDS = 4;
const DRAIN_MAX_ROUNDS = 80;
const DRAIN_ROUND_MS = 25;

/** Runs it to its end, whatever that is. Rejects only when the isolation itself failed. */
export async function runCommand(guest: Guest, request: RunRequest): Promise<RunOutcome> {
  if (request.signal?.aborted) return notStarted();
  return (await startCommand(guest, request)).outcome;
}

/** Starts it; it is over when its outcome is there. */
export async function startCommand(guest: Guest, request: RunRequest): Promise<Running> {
  const { stdin, timeoutSec } = request;
  const startedAt = performance.now();
  const program = await guest.spawn({
    ...request.command,
    ...(stdin === undefined ? {} : { stdin: stdin instanceof Uint8Array ? stdin : 'stream' }),
  });
  request.onSpawned?.();
  const stopFeeding =
    stdin === undefined || stdin instanceof Uint8Array
      ? () => {}
      : stdin === 'stream'
        ? () => void program.stdin?.destroy()
        : feed(program, stdin);
  const collect = (name: OutputChunk['stream']) => new Collector(program, name, request);
  const [stdout, stderr] = [collect('stdout'), collect('stderr')];
  const collectors = [stdout, stderr];
  const ending = new Ending(program, request);
  const finish = async (): Promise<RunOutcome> => {
    try {
      const exit = await program.exit;
      const durationSec = (performance.now() - startedAt) / 1000;
      stopFeeding();
      await Promise.all(collectors.map((collector) => collector.drain()));
      return describe(exit, ending.reason, durationSec, collectors, timeoutSec);
    } catch (error) {
      throw withOutput(error, collectors);
    } finally {
      ending.dispose();
      stopFeeding();
      for (const collector of collectors) collector.dispose();
    }
  };
  return {
    program,
    captured: { stdout: stdout.capture, stderr: stderr.capture },
    outcome: finish(),
    stop: () => ending.end('stopped'),
  };
}

function describe(
  exit: Exit,
  reason: Ending['reason'],
  durationSec: number,
  [stdout, stderr]: readonly Collector[],
  timeoutSec: number | undefined,
): RunOutcome {
  const notice = reason === 'timeout' ? `Execution timed out after ${timeoutSec} seconds.\n` : undefined;
  const ended = { durationSec, stdout: finished(stdout), stderr: finished(stderr, notice) };
  const known = {
    ...(exit.oomKills ? { oomKills: exit.oomKills } : {}),
    ...(exit.usage === undefined ? {} : { usage: exit.usage }),
  };
  if (reason === 'timeout') {
    return { ...ended, ...known, outcome: 'timed_out', exitCode: -1, killedBy: 'timeout' };
  }
  if (reason === 'cancelled') return { ...ended, ...known, outcome: 'cancelled', exitCode: 130 };
  if (exit.outOfMemory)
    return { ...ended, ...known, outcome: 'out_of_memory', exitCode: 137, killedBy: 'memory' };
  if (reason === 'lifetime') {
    // One that left in good order was ended all the same, by what it was asked with.
    const exitCode = isBySignal(exit.code) ? exit.code : 128 + SIGTERM;
    const signal = exitCode - 128;
    return { ...ended, ...known, outcome: 'killed', exitCode, signal, killedBy: 'lifetime' };
  }
  if (isBySignal(exit.code)) {
    const signal = exit.code - 128;
    const killedBy = KILLED_BY_SIGNAL[signal];
    return {
      ...ended,
      ...known,
      outcome: 'killed',
      exitCode: exit.code,
      signal,
      ...(killedBy ? { killedBy } : {}),
    };
  }
  return { ...ended, ...known, outcome: 'exited', exitCode: exit.code };
}

const SIGTERM = 15;

function isBySignal(code: number): boolean {
  return code > 128 && code <= 192;
}

/** SIGXCPU and SIGXFSZ: the kernel sends them for these limits. */
const KILLED_BY_SIGNAL: Readonly<Record<number, 'cpu' | 'file_size'>> = { 24: 'cpu', 25: 'file_size' };

function finished(collector: Collector | undefined, suffix?: string): Captured {
  return collector?.finish(suffix) ?? { text: '', bytes: 0, truncated: false };
}

/** What comes of a run that was cancelled before it began. */
export function notStarted(): RunOutcome {
  const nothing: Captured = { text: '', bytes: 0, truncated: false };
  return { outcome: 'cancelled', exitCode: 130, durationSec: 0, stdout: nothing, stderr: nothing };
}

/** Why we ended it; the first reason holds. */
type EndedFor = 'timeout' | 'cancelled' | 'lifetime' | 'stopped';

/** Ends the program at the deadline or when it is cancelled: politely, then for good. */
class Ending {
  reason: EndedFor | undefined;
  readonly #program: GuestProcess;
  readonly #listening: readonly (() => void)[];
  readonly #deadline: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;

  constructor(program: GuestProcess, { timeoutSec, signal, lifetime }: RunRequest) {
    this.#program = program;
    if (timeoutSec !== undefined) {
      this.#deadline = setTimeout(() => this.end('timeout'), timeoutSec * 1000);
    }
    this.#listening = [
      onAbort(signal, () => this.end('cancelled')),
      onAbort(lifetime, () => this.end('lifetime')),
    ];
  }

  end(reason: EndedFor): void {
    if (this.reason !== undefined) return;
    this.reason = reason;
    const kill = (signal: 'SIGTERM' | 'SIGKILL'): void => {
      // A kill that fails shows in `exit`, which everybody waits for.
      this.#program.kill(signal).catch(() => {});
    };
    kill('SIGTERM');
    this.#grace = setTimeout(() => kill('SIGKILL'), GRACE_MS);
  }

  dispose(): void {
    clearTimeout(this.#deadline);
    clearTimeout(this.#grace);
    for (const stop of this.#listening) stop();
  }
}

/** Reads one stream to its end, or until nothing more comes after the program's. */
class Collector {
  readonly capture: Capture;
  readonly #stream: ByteSource;
  readonly #ended: Promise<void>;
  #active = false;
  #consumerBusy = false;

  constructor(program: GuestProcess, name: OutputChunk['stream'], request: RunRequest) {
    this.#stream = program[name];
    this.capture = new Capture(request.maxOutputBytes);
    this.#ended = this.#read(name, request);
    // A consumer that throws ends the run; the error itself comes out of `drain`.
    this.#ended.catch(() => program.kill('SIGKILL').catch(() => {}));
  }

  async #read(stream: OutputChunk['stream'], { onOutput, keep }: RunRequest): Promise<void> {
    const decoder = onOutput === undefined ? undefined : decodeStream();
    const give = async (text: string, bytes: Uint8Array): Promise<void> => {
      if (onOutput === undefined || (text === '' && bytes.length === 0)) return;
      this.#consumerBusy = true;
      await onOutput({ stream, text, bytes });
      this.#consumerBusy = false;
    };
    try {
      for await (const chunk of this.#stream) {
        this.#active = true;
        this.capture.push(chunk);
        keep?.(stream, chunk);
        if (decoder) await give(decoder.push(chunk), chunk);
      }
    } catch (error) {
      // Destroyed by `drain`, which has waited long enough for a pipe that nobody closes.
      if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    }
    if (decoder) await give(decoder.finish(), new Uint8Array());
  }

  /** Waits for the end, but not for whoever may still hold the pipe open. */
  async drain(): Promise<void> {
    let idle = 0;
    let round = 0;
    const watching = setInterval(() => {
      if (this.#consumerBusy) round = 0;
      idle = this.#active || this.#consumerBusy ? 0 : idle + 1;
      this.#active = false;
      if (idle >= DRAIN_IDLE_ROUNDS || ++round >= DRAIN_MAX_ROUNDS) this.#stream.destroy();
    }, DRAIN_ROUND_MS);
    this.#active = false;
    try {
      await this.#ended;
    } finally {
      clearInterval(watching);
    }
  }

  finish(suffix?: string): Captured {
    return this.capture.finish(suffix);
  }

  dispose(): void {
    this.#stream.destroy();
  }
}

/** Copies a stream into the program's standard input; returns how to stop. */
function feed(program: GuestProcess, source: Readable): () => void {
  const target = program.stdin;
  if (target === undefined) {
    throw new SandboxError('SANDBOX_FAILED', 'This runtime gave the program no standard input.', {
      hint: 'Pass the input as text instead of a stream.',
    });
  }
  // EPIPE: the program does not read, or has ended; both are its own business.
  target.on('error', () => source.unpipe(target));
  // A source that breaks is the end of the input.
  const end = (): void => {
    target.end();
  };
  source.once('error', end);
  source.pipe(target);
  return () => {
    source.unpipe(target);
    source.off('error', end);
    target.destroy();
  };
}

/** What was printed before the isolation failed often tells why it did. */
function withOutput(error: unknown, collectors: readonly Collector[]): unknown {
  if (!isSandboxError(error) || error.code !== 'SANDBOX_FAILED') return error;
  const [stdout, stderr] = collectors.map((collector) => collector.finish().text.slice(-2000));
  return new SandboxError(error.code, `${error.message}${stderr ? ` (${stderr.trim()})` : ''}`, {
    hint: error.hint,
    details: { ...error.details, stdout, stderr },
    cause: error,
  });
}
