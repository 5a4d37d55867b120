/** One run of one command in a guest: deadline, output capture, cancellation and outcome, for all runtimes alike. */

import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { isSandboxError, SandboxError } from '../errors.ts';
import type { OnOutput, OutputChunk } from '../result/output.ts';
import type { ExecutionMeta, Outcome } from '../result/result.ts';
import type { ByteSource, Command, Exit, Guest, GuestProcess, Usage } from '../runtimes/runtime.ts';
import { Capture, type Captured } from './capture.ts';
import { decodeStream } from './textStream.ts';

export interface RunRequest {
  readonly command: Omit<Command, 'stdin'>;
  readonly stdin?: Uint8Array | Readable;
  readonly timeoutSec: number;
  readonly maxOutputBytes: number;
  readonly signal?: AbortSignal;
  readonly onOutput?: OnOutput;
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
  const { signal } = request;
  const streaming = request.stdin !== undefined && !(request.stdin instanceof Uint8Array);
  if (signal?.aborted) return notStarted();
  const startedAt = performance.now();
  const program = await guest.spawn({
    ...request.command,
    ...(request.stdin === undefined ? {} : { stdin: streaming ? 'stream' : (request.stdin as Uint8Array) }),
  });
  const stopFeeding = streaming ? feed(program, request.stdin as Readable) : () => {};
  const collectors = (['stdout', 'stderr'] as const).map(
    (name) => new Collector(program, name, request.maxOutputBytes, request.onOutput),
  );
  const ending = new Ending(program, request.timeoutSec, signal);
  try {
    const exit = await program.exit;
    const durationSec = (performance.now() - startedAt) / 1000;
    stopFeeding();
    await Promise.all(collectors.map((collector) => collector.drain()));
    return describe(exit, ending.reason, durationSec, collectors, request.timeoutSec);
  } catch (error) {
    throw withOutput(error, collectors);
  } finally {
    ending.dispose();
    stopFeeding();
    for (const collector of collectors) collector.dispose();
  }
}

function describe(
  exit: Exit,
  reason: Ending['reason'],
  durationSec: number,
  [stdout, stderr]: readonly Collector[],
  timeoutSec: number,
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
  if (exit.code > 128 && exit.code <= 192) {
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

/** SIGXCPU and SIGXFSZ: the kernel sends them for these limits. */
const KILLED_BY_SIGNAL: Readonly<Record<number, 'cpu' | 'file_size'>> = { 24: 'cpu', 25: 'file_size' };

function finished(collector: Collector | undefined, suffix?: string): Captured {
  return collector?.finish(suffix) ?? { text: '', bytes: 0, truncated: false };
}

function notStarted(): RunOutcome {
  const nothing: Captured = { text: '', bytes: 0, truncated: false };
  return { outcome: 'cancelled', exitCode: 130, durationSec: 0, stdout: nothing, stderr: nothing };
}

/** Ends the program at the deadline or when it is cancelled: politely, then for good. */
class Ending {
  reason: 'timeout' | 'cancelled' | undefined;
  readonly #program: GuestProcess;
  readonly #signal: AbortSignal | undefined;
  readonly #deadline: NodeJS.Timeout;
  #grace: NodeJS.Timeout | undefined;

  constructor(program: GuestProcess, timeoutSec: number, signal: AbortSignal | undefined) {
    this.#program = program;
    this.#signal = signal;
    this.#deadline = setTimeout(() => this.#end('timeout'), timeoutSec * 1000);
    signal?.addEventListener('abort', this.#cancel, { once: true });
    if (signal?.aborted) this.#cancel();
  }

  readonly #cancel = (): void => this.#end('cancelled');

  #end(reason: 'timeout' | 'cancelled'): void {
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
    this.#signal?.removeEventListener('abort', this.#cancel);
  }
}

/** Reads one stream to its end, or until nothing more comes after the program's. */
class Collector {
  readonly #stream: ByteSource;
  readonly #capture: Capture;
  readonly #ended: Promise<void>;
  #active = false;
  #consumerBusy = false;

  constructor(
    program: GuestProcess,
    name: OutputChunk['stream'],
    limitBytes: number,
    onOutput: OnOutput | undefined,
  ) {
    this.#stream = program[name];
    this.#capture = new Capture(limitBytes);
    this.#ended = this.#read(name, onOutput);
    // A consumer that throws ends the run; the error itself comes out of `drain`.
    this.#ended.catch(() => program.kill('SIGKILL').catch(() => {}));
  }

  async #read(stream: OutputChunk['stream'], onOutput: OnOutput | undefined): Promise<void> {
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
        this.#capture.push(chunk);
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
    const ended = new AbortController();
    const watch = async (): Promise<void> => {
      let idle = 0;
      for (let round = 0; idle < DRAIN_IDLE_ROUNDS && round < DRAIN_MAX_ROUNDS; round++) {
        this.#active = false;
        await delay(DRAIN_ROUND_MS, undefined, { signal: ended.signal });
        if (this.#consumerBusy) round = 0;
        idle = this.#active || this.#consumerBusy ? 0 : idle + 1;
      }
      this.#stream.destroy();
    };
    const watching = watch().catch(() => {});
    try {
      await this.#ended;
    } finally {
      ended.abort();
      await watching;
    }
  }

  finish(suffix?: string): Captured {
    return this.#capture.finish(suffix);
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
