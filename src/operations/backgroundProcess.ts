import { SandboxError } from '../errors.ts';
import type { ProcessStatus } from '../sandbox/background.ts';
import type { OutputPage, PageRequest } from '../sandbox/outputPage.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { checkOptions } from './checkOptions.ts';
import type { Started } from './execute.ts';
import type { Operate } from './oversight/sandboxes.ts';
import type { ProcessHandle } from './sandboxService.ts';

/** What runs code in the background: a command as it is, or code in a language. */
export type BackgroundJob =
  | readonly [string, ...string[]]
  | { readonly code: string | Uint8Array; readonly language?: string };

/** A program in the background of a sandbox of this process: what is known of it is at hand. */
export interface BackgroundProcess extends ProcessHandle {
  readonly status: ProcessStatus;
  output(request?: PageRequest): OutputPage;
}

/** Seconds that a process is waited for where nobody says how long. */
export const WAIT_SEC = 30;

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

/** Throws `INPUT_INVALID` for what no line can be waited for by. */
export function checkPattern(pattern: unknown): void {
  if (typeof pattern === 'string' || pattern instanceof RegExp) return;
  throw new SandboxError('INPUT_INVALID', 'A line is waited for by a text in it or by a pattern.', {
    hint: "Call waitForLine('listening') or waitForLine(/listening on (\\d+)/).",
  });
}

const SIGNALS: readonly unknown[] = ['SIGINT', 'SIGTERM', 'SIGKILL'];

/** Throws `INPUT_INVALID` for what is no signal to send. */
export function checkSignal(signal: unknown): void {
  if (signal === undefined || SIGNALS.includes(signal)) return;
  throw new SandboxError('INPUT_INVALID', `${JSON.stringify(signal)?.slice(0, 100)} is no signal to send.`, {
    hint: `Use one of: ${SIGNALS.join(', ')}; or none, to end the process.`,
  });
}
