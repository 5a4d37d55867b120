import type { RichResult } from '../result/contextExecution.ts';
import type { OnOutput, OutputChunk } from '../result/output.ts';
import { Capture, type Captured } from './capture.ts';
import { type Done, readDone, readResult } from './contextMessages.ts';
import type { FrameSink } from './frames.ts';
import { decodeStream, type TextStream } from './textStream.ts';

export interface ContextCellOptions {
  readonly maxOutputBytes: number;
  readonly maxResultBytes: number;
  readonly onOutput?: OnOutput | undefined;
  readonly onResult?: ((result: RichResult) => void) | undefined;
  /** Called once, when whoever takes output or results has thrown. */
  readonly onFailure?: () => void;
}

type StreamName = OutputChunk['stream'];

/** However small, a result costs this much of the room for results. */
const LEAST_RESULT_BYTES = 1024;
/** What a message may say beside the forms of a result, which alone have been counted inside. */
const UNCOUNTED_BYTES = 1024;

/** One cell that runs: collects what comes until the kernel says on both streams that this was all. */
export class ContextCell {
  readonly token: string;
  /** Resolves when the kernel has said so. */
  readonly done: Promise<Done>;
  readonly results: RichResult[] = [];
  resultsLeftOut = 0;
  /** What whoever takes the output or the results has thrown. */
  failure: { readonly error: unknown } | undefined;
  readonly #options: ContextCellOptions;
  readonly #captures: Readonly<Record<StreamName, Capture>>;
  readonly #decoders: Readonly<Record<StreamName, TextStream>>;
  #room: number;
  #answer: Done | undefined;
  #errorsEnded = false;
  #started = false;
  #whenStarted: (() => void)[] = [];
  #timers: NodeJS.Timeout[] = [];
  #resolve: (done: Done) => void = () => {};

  constructor(token: string, options: ContextCellOptions) {
    this.token = token;
    this.#options = options;
    this.#room = options.maxResultBytes;
    const { maxOutputBytes } = options;
    this.#captures = { stdout: new Capture(maxOutputBytes), stderr: new Capture(maxOutputBytes) };
    this.#decoders = { stdout: decodeStream(), stderr: decodeStream() };
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Whether what comes on this stream is this cell's. */
  takes(name: StreamName): boolean {
    return name === 'stdout' ? this.#answer === undefined : !this.#errorsEnded;
  }

  async take(name: StreamName, bytes: Uint8Array): Promise<void> {
    this.#captures[name].push(bytes);
    if (this.#options.onOutput) await this.#give(name, this.#decoders[name].push(bytes), bytes);
  }

  hear(name: StreamName, kind: Parameters<FrameSink['message']>[0], payload: Buffer | null): void {
    if (name === 'stderr') {
      if (kind === 'x') this.#errorsEnded = true;
    } else if (kind === 's') this.#start();
    else if (kind === 'r') this.#addResult(payload);
    else if (kind === 'd') this.#answer ??= readDone(payload);
    if (this.#answer !== undefined && this.#errorsEnded) this.#resolve(this.#answer);
  }

  /** At once, when the kernel has already begun with it. */
  whenStarted(action: () => void): void {
    if (this.#started) action();
    else this.#whenStarted.push(action);
  }

  /** The kernel has said that this was all. */
  get isOver(): boolean {
    return this.#answer !== undefined && this.#errorsEnded;
  }

  /** Does it after each of these times, unless the cell is over by then. */
  later(delaysMs: readonly number[], action: () => void): void {
    this.dispose();
    this.#timers = delaysMs.map((delayMs) => setTimeout(action, delayMs));
  }

  /** Stops what would come later; safe to call twice. */
  dispose(): void {
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
  }

  /** The rest of a character that never became whole. */
  async finish(): Promise<void> {
    if (!this.#options.onOutput) return;
    for (const name of ['stdout', 'stderr'] as const) {
      await this.#give(name, this.#decoders[name].finish(), new Uint8Array());
    }
  }

  captured(name: StreamName, suffix?: string): Captured {
    return this.#captures[name].finish(suffix);
  }

  #start(): void {
    this.#started = true;
    for (const action of this.#whenStarted.splice(0)) action();
  }

  #addResult(payload: Buffer | null): void {
    const bytes = Math.max(LEAST_RESULT_BYTES, (payload?.length ?? 0) - UNCOUNTED_BYTES);
    const result = payload === null || bytes > this.#room ? undefined : readResult(payload);
    if (result === undefined) {
      this.resultsLeftOut++;
      return;
    }
    this.#room -= bytes;
    this.results.push(result);
    try {
      if (this.failure === undefined) this.#options.onResult?.(result);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #give(stream: StreamName, text: string, bytes: Uint8Array): Promise<void> {
    if (this.failure !== undefined || (text === '' && bytes.length === 0)) return;
    try {
      await this.#options.onOutput?.({ stream, text, bytes });
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.failure = { error };
    this.#options.onFailure?.();
  }
}
