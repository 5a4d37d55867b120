import { SandboxError } from '../errors.ts';
import type { ExecutionResult } from '../result/result.ts';
import type { ProcessStatus } from '../sandbox/background.ts';
import type { OutputLine } from '../sandbox/lines.ts';
import type { OutputPage, PageRequest } from '../sandbox/outputPage.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { checkOptions } from './checkOptions.ts';
import type { Started } from './execute.ts';
import type { WaitForLineOptions, WaitOptions } from './options.ts';
import type { Operate } from './oversight/sandboxes.ts';

/** What runs code in the background: a command as it is, or code in a language. */
export type BackgroundJob =
  | readonly [string, ...string[]]
  | { readonly code: string | Uint8Array; readonly language?: string };

/** A program that runs beside the executions of its sandbox, until it ends, is ended, or the sandbox ends. */
export interface BackgroundProcess {
  /** The execution's id, as in the `meta` of its result. */
  readonly id: string;
  readonly argv: readonly string[];
  /** ISO 8601. */
  readonly startedAt: string;
  /** `running`, or how it ended; `failed` when its isolation did. */
  readonly status: ProcessStatus;
  /** A page of what it wrote: of each stream the beginning and the end are kept, and `offset` says what is told. */
  output(request?: PageRequest): OutputPage;
  /** Every line that is kept, and those to come until it ends; of a line of more than 8192 characters the beginning. */
  lines(options?: Pick<WaitForLineOptions, 'stream'>): AsyncIterable<OutputLine>;
  /** The same as it comes, page after page, from any offset: whoever was cut off goes on where he was. */
  follow(request?: PageRequest): AsyncIterable<OutputPage>;
  /**
   * Resolves to the first line, from the beginning on, that holds the text or matches the pattern. The lines are
   * the program's: a pattern that takes exponential time on some text (as `(a+)+$` does) can be made to hang.
   * Throws `WAIT_FAILED` when none came in time, or before the process ended.
   */
  waitForLine(pattern: string | RegExp, options?: WaitForLineOptions): Promise<OutputLine>;
  /** Resolves when somebody listens on this port of 127.0.0.1 inside. Throws `WAIT_FAILED`. */
  waitForPort(port: number, options?: WaitOptions): Promise<void>;
  /** Resolves when it has ended, with the outcomes of an execution; rejects only when the isolation failed. */
  wait(): Promise<ExecutionResult>;
  /** Writes to its standard input; only when it was started with `stdin: 'stream'`. */
  write(data: string | Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  /** Sends a signal; without one, ends it: SIGTERM, a second of grace, SIGKILL, and waits for its end. */
  kill(signal?: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

const WAIT_SEC = 30;

export function backgroundProcess(
  sandbox: Sandbox,
  { background, result }: Started,
  operate: Operate,
): BackgroundProcess {
  const process_id = background.id;
  return {
    id: background.id,
    argv: background.argv,
    startedAt: background.startedAt.toISOString(),
    get status() {
      return background.status;
    },
    output: (request) => background.output(request),
    lines(options = {}) {
      checkOptions('lines', options);
      return background.lines(options.stream && [options.stream]);
    },
    follow: (request) => background.follow(request),
    async waitForLine(pattern, options = {}) {
      checkPattern(pattern);
      checkOptions('waitForLine', options);
      const { timeout = WAIT_SEC, stream } = options;
      return background.waitForLine(pattern, {
        timeoutSec: timeout,
        ...(stream === undefined ? {} : { streams: [stream] }),
      });
    },
    async waitForPort(port, options = {}) {
      checkOptions('wait', options);
      return sandbox.waitForPort(background, port, options.timeout ?? WAIT_SEC);
    },
    wait: () => result,
    async write(data) {
      const bytes = Buffer.from(data);
      const wish = () => ({ parameters: { process_id }, content: { bytes } });
      return operate('write_input', wish, () => background.write(bytes));
    },
    closeStdin: () => background.closeStdin(),
    async kill(signal) {
      checkSignal(signal);
      const wish = () => ({ parameters: { process_id, signal: signal ?? null } });
      await operate('stop_process', wish, () => background.kill(signal));
    },
  };
}

function checkPattern(pattern: unknown): void {
  if (typeof pattern === 'string' || pattern instanceof RegExp) return;
  throw new SandboxError('INPUT_INVALID', 'A line is waited for by a text in it or by a pattern.', {
    hint: "Call waitForLine('listening') or waitForLine(/listening on (\\d+)/).",
  });
}

const SIGNALS: readonly unknown[] = ['SIGINT', 'SIGTERM', 'SIGKILL'];

function checkSignal(signal: unknown): void {
  if (signal === undefined || SIGNALS.includes(signal)) return;
  throw new SandboxError('INPUT_INVALID', `${JSON.stringify(signal)?.slice(0, 100)} is no signal to send.`, {
    hint: `Use one of: ${SIGNALS.join(', ')}; or none, to end the process.`,
  });
}
