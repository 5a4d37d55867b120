/** A program that runs in the background of a sandbox of a server. */
import type { Readable } from 'node:stream';
import { SandboxError } from '../errors.ts';
import { checkPattern, checkSignal, WAIT_SEC } from '../operations/backgroundProcess.ts';
import { checkOptions } from '../operations/checkOptions.ts';
import type { StartOptions } from '../operations/options.ts';
import type { ProcessHandle } from '../operations/sandboxService.ts';
import type { ExecutionResult } from '../result/result.ts';
import { resultSchema } from '../result/resultFromJson.ts';
import { lineMatcher, type OutputLine } from '../sandbox/lines.ts';
import { checkPort } from '../sandbox/ports.ts';
import { deadline } from './deadline.ts';
import { type Followed, followOn, type Listeners } from './execution.ts';
import { followPages, linesOf, pageOf } from './pages.ts';
import { idPath } from './paths.ts';
import type { Place } from './place.ts';
import { type ProcessAnswer, processAnswer } from './wire.ts';
import { withMissed } from './withMissed.ts';

const BYTES = 'application/octet-stream';

/** For input that is fed as it comes. */
const FEED_SEC = 24 * 3600;

/** What belongs to whoever started it. */
export interface Started extends Pick<StartOptions, 'onOutput' | 'signal'> {
  readonly stdin?: Readable;
}

export function remoteProcess(
  place: Place,
  answer: ProcessAnswer,
  { stdin, onOutput, signal }: Started = {},
): ProcessHandle {
  const { executionId: id, processId, argv, startedAt } = answer;
  const { transport } = place;
  const path = `processes/${idPath(processId)}`;
  let result: Promise<ExecutionResult> | undefined;
  const follow = (listeners: Listeners): Promise<ExecutionResult> => {
    result ??= place
      .guarded<Followed<ExecutionResult>>(() => followOn(transport, id, resultSchema, listeners))
      .then(withMissed);
    // Whoever waits is told.
    result.catch(() => {});
    return result;
  };
  if (onOutput !== undefined || signal !== undefined) {
    void follow({
      ...(onOutput === undefined ? {} : { onOutput }),
      ...(signal === undefined ? {} : { signal }),
    });
  }
  const status = async () => (await place.json({ path }, processAnswer)).status;
  const feed = (content: Uint8Array | AsyncIterable<Uint8Array>, close: boolean, timeoutSec?: number) =>
    place.tell({
      ...{ method: 'PUT', path: `${path}/stdin`, query: { close: close ? true : undefined } },
      body: { type: BYTES, content },
      ...(timeoutSec === undefined ? {} : { timeoutSec }),
    });
  // What the program does not read any more is its own business.
  if (stdin !== undefined) feed(stdin, true, FEED_SEC).catch(() => {});
  const lines = (stream?: OutputLine['stream'], over?: AbortSignal) =>
    linesOf(transport, id, stream === undefined ? ['stdout', 'stderr'] : [stream], over);
  return {
    id,
    argv,
    startedAt,
    get status() {
      return status();
    },
    output: (request) => place.guarded(() => pageOf(transport, id, request)),
    lines(options = {}) {
      checkOptions('lines', options);
      return lines(options.stream);
    },
    follow: (request) => followPages(transport, id, request),
    async waitForLine(pattern, options = {}) {
      checkPattern(pattern);
      checkOptions('waitForLine', options);
      const { timeout = WAIT_SEC, stream } = options;
      const matches = lineMatcher(pattern);
      const inVain = (why: string): SandboxError =>
        new SandboxError('WAIT_FAILED', `No line with ${String(pattern).slice(0, 100)} came ${why}.`, {
          hint: 'Look at the output of the process, or wait longer with `timeout`.',
          details: { processId: id },
        });
      using limit = deadline(timeout * 1000, transport.closed);
      try {
        for await (const line of lines(stream, limit.signal)) if (matches(line.text)) return line;
      } catch (error) {
        throw limit.isLate ? inVain(`within ${timeout} s`) : error;
      }
      throw inVain('before the process ended');
    },
    async waitForPort(port, options = {}) {
      checkOptions('wait', options);
      checkPort(port);
      throw new SandboxError('POLICY_NOT_ENFORCEABLE', 'A server has no way to a port of a sandbox.', {
        hint: 'Wait for a line that the process prints, or try the port from inside with exec.',
        details: { processId: id, port },
      });
    },
    wait: () => follow({}),
    write: (data) => feed(Buffer.from(data), false),
    closeStdin: () => feed(new Uint8Array(), true),
    async kill(wanted) {
      checkSignal(wanted);
      await place.tell({ method: 'DELETE', path, query: { signal: wanted } });
    },
  };
}
