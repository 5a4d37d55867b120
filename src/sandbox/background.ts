/** A program that runs beside the executions of its sandbox: its output so far, its end, and ways to wait. */

import type { Bell } from '../bell.ts';
import { SandboxError } from '../errors.ts';
import type { Outcome } from '../result/result.ts';
import type { GuestProcess } from '../runtimes/runtime.ts';
import { LineCutter, lineMatcher, type OutputLine } from './lines.ts';
import {
  type KeptStream,
  type OutputPage,
  type PageRequest,
  readPage,
  type StreamName,
} from './outputPage.ts';
import type { Running, RunOutcome } from './run.ts';
import { within } from './within.ts';

/** `failed`: not the program but its isolation; `wait` tells. Otherwise as the outcome of an execution. */
export type ProcessStatus = 'running' | 'failed' | Outcome;

/** How much of the end of stderr an error tells. */
const TOLD_CHARACTERS = 500;

export class Background {
  readonly id: string;
  readonly argv: readonly string[];
  readonly startedAt = new Date();
  readonly #running: Running;
  readonly #news: Bell;
  #status: ProcessStatus = 'running';

  /** `news` rings whenever the program has written something. */
  constructor(id: string, argv: readonly string[], running: Running, news: Bell) {
    this.id = id;
    this.argv = argv;
    this.#running = running;
    this.#news = news;
    // EPIPE: the program does not read, or has ended; `write` tells whoever writes.
    running.program.stdin?.on('error', () => {});
    const ended = (status: ProcessStatus): void => {
      this.#status = status;
      news.ring();
    };
    running.outcome.then(
      ({ outcome }) => ended(outcome),
      // Whoever waits for the outcome is told why.
      () => ended('failed'),
    );
  }

  get status(): ProcessStatus {
    return this.#status;
  }

  get program(): GuestProcess {
    return this.#running.program;
  }

  /** Rejects only when the isolation itself failed. */
  get outcome(): Promise<RunOutcome> {
    return this.#running.outcome;
  }

  output(request: PageRequest = {}): OutputPage {
    return readPage(this.#kept(request.stream ?? 'stdout'), request);
  }

  /** Page after page of one stream, until the program has ended and all was told. */
  async *follow(request: PageRequest = {}): AsyncGenerator<OutputPage> {
    let offset = request.offset ?? 0;
    for (;;) {
      const news = this.#news.rung();
      const page = this.output({ ...request, offset });
      offset = page.nextOffset;
      if (page.bytes.length > 0) yield page;
      else if (page.ended) return;
      else await news;
    }
  }

  /** Every line that is still kept, from the first on, and those to come, until the program has ended. */
  async *lines(streams?: readonly StreamName[]): AsyncGenerator<OutputLine> {
    const reader = new LineReader(this, streams);
    for (let ended = false; !ended; ) {
      const news = this.#news.rung();
      ended = this.#status !== 'running';
      yield* reader.read();
      if (!ended) await news;
    }
    yield* reader.rest();
  }

  /** Throws `WAIT_FAILED` when no such line came in time, or before the program ended. */
  async waitForLine(
    pattern: string | RegExp,
    { timeoutSec, streams }: { readonly timeoutSec: number; readonly streams?: readonly StreamName[] },
  ): Promise<OutputLine> {
    const matches = lineMatcher(pattern);
    const reader = new LineReader(this, streams);
    const what = `No line with ${String(pattern).slice(0, 100)} came`;
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#news.ring();
    }, timeoutSec * 1000);
    try {
      for (;;) {
        const news = this.#news.rung();
        const ended = this.#status !== 'running';
        for (const line of reader.read()) if (matches(line.text)) return line;
        if (ended) {
          for (const line of reader.rest()) if (matches(line.text)) return line;
          throw this.#waitedInVain(what);
        }
        if (late) throw this.#waitedInVain(what, timeoutSec);
        await news;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Attempts until one succeeds. Throws `WAIT_FAILED` when none did in time, or before the program ended. */
  async waitUntil(what: string, timeoutSec: number, attempt: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + timeoutSec * 1000;
    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 250)) {
      const left = end - Date.now();
      if (left <= 0) throw this.#waitedInVain(what, timeoutSec);
      const ended = this.#status !== 'running';
      if (await within(left, attempt())) return;
      if (ended) throw this.#waitedInVain(what);
      await within(Math.min(pauseMs, Math.max(0, end - Date.now())), this.#ended());
    }
  }

  /** Resolves when it is with the program. Throws `INPUT_INVALID` where that cannot be. */
  async write(data: string | Uint8Array): Promise<void> {
    const stdin = this.#stdin();
    const written = new Promise<true>((resolve, reject) => {
      stdin.write(data, (error) => (error ? reject(error) : resolve(true)));
    });
    // What is still on its way when the program ends never arrives.
    const result = await Promise.race([written, this.#ended()]).catch((error: unknown) => error);
    if (result === true) return;
    throw new SandboxError('INPUT_INVALID', `The process ${this.id} reads no more.`, {
      hint: 'Look at its status and output.',
      cause: result,
    });
  }

  async closeStdin(): Promise<void> {
    this.#stdin().end();
  }

  /** A signal is only sent; without one the program is ended, after a second of grace for good, and waited for. */
  async kill(signal?: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.#status !== 'running') return;
    if (signal !== undefined) {
      await this.#running.program.kill(signal);
      return;
    }
    this.#running.stop();
    await this.#ended();
  }

  #ended(): Promise<void> {
    return this.#running.outcome.then(
      () => {},
      () => {},
    );
  }

  #kept(stream: StreamName): KeptStream {
    const capture = this.#running.captured[stream] ?? this.#running.captured.stdout;
    const { totalBytes, droppedBytes } = capture;
    return {
      totalBytes,
      droppedBytes,
      ended: this.#status !== 'running',
      copy: (offset, limit) => capture.copy(offset, limit),
    };
  }

  #stdin(): NonNullable<GuestProcess['stdin']> {
    const { stdin } = this.#running.program;
    if (stdin !== undefined) return stdin;
    throw new SandboxError('INPUT_INVALID', `The process ${this.id} has no standard input to write to.`, {
      hint: "Start it with { stdin: 'stream' }.",
    });
  }

  #waitedInVain(what: string, timeoutSec?: number): SandboxError {
    const why =
      timeoutSec === undefined ? `before the process ended (${this.#status})` : `within ${timeoutSec} s`;
    const said = this.#running.captured.stderr.finish().text.slice(-TOLD_CHARACTERS).trim();
    return new SandboxError('WAIT_FAILED', `${what} ${why}.`, {
      hint: 'Look at the output of the process, or wait longer with `timeout`.',
      details: { processId: this.id, status: this.#status, ...(said === '' ? {} : { stderr: said }) },
    });
  }
}

/** Reads both streams, each from its beginning, as lines. */
class LineReader {
  readonly #process: Background;
  readonly #readers: { readonly stream: StreamName; readonly cutter: LineCutter; offset: number }[];

  constructor(process: Background, streams: readonly StreamName[] = ['stdout', 'stderr']) {
    this.#process = process;
    this.#readers = streams.map((stream) => ({ stream, cutter: new LineCutter(), offset: 0 }));
  }

  /** The lines that are whole by now; what they are read from is no more than what is kept. */
  *read(): Generator<OutputLine> {
    for (const reader of this.#readers) {
      const { stream, cutter } = reader;
      for (;;) {
        const page = this.#process.output({ stream, offset: reader.offset });
        if (page.bytes.length === 0) break;
        // What was left out in between belongs to no line.
        if (page.offset > reader.offset) cutter.finish();
        reader.offset = page.nextOffset;
        for (const text of cutter.push(page.text)) yield { stream, text };
      }
    }
  }

  /** What no line end came after. */
  *rest(): Generator<OutputLine> {
    for (const { stream, cutter } of this.#readers) {
      const text = cutter.finish();
      if (text !== undefined) yield { stream, text };
    }
  }
}
