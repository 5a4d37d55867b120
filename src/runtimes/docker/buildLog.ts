/** What an engine says while it builds an image: lines of JSON, one message each. */
import { SandboxError } from '../../errors.ts';

/** One line of what a build says, without a line feed. It is not ours: make it safe before it is shown. */
export interface BuildLine {
  /** A step begins; it says something; or how far a download is, which the next such line replaces. */
  readonly kind: 'step' | 'output' | 'progress';
  readonly text: string;
}

interface Message {
  readonly stream?: string;
  readonly status?: string;
  readonly id?: string;
  readonly progress?: string;
  readonly error?: string;
  /** Has a code where a command of a step failed; what it said tells why then. */
  readonly errorDetail?: { readonly code?: number };
}

/** What engines say about themselves between what commands say. */
const OF_THE_ENGINE = /^(?: ---> |Removing intermediate container )/;

/** Longer than any line that is worth showing. */
const MAX_LINE = 64 * 1024;

/** How many lines of the step that failed the error carries. */
const TAIL_LINES = 40;

/** The lines of a build's log; throws `SANDBOX_FAILED` when the log says that the build failed. */
export async function* buildLines(log: AsyncIterable<Uint8Array>): AsyncGenerator<BuildLine> {
  const said: string[] = [];
  let unfinished = '';
  for await (const json of linesOf(log)) {
    const { stream, status, id, progress, error, errorDetail } = JSON.parse(json) as Message;
    if (error !== undefined) {
      const last = plain(unfinished);
      if (last !== '') yield { kind: 'output', text: last };
      const output = [...said, last].filter((line) => line !== '').slice(-TAIL_LINES);
      throw buildFailed(error, output, errorDetail?.code !== undefined);
    }
    if (status !== undefined) {
      const text = [id === undefined ? status : `${id}: ${status}`, progress ?? ''].join(' ').trim();
      yield { kind: progress ? 'progress' : 'output', text };
    }
    const lines = (unfinished + (stream ?? '')).split('\n');
    unfinished = (lines.pop() ?? '').slice(-MAX_LINE);
    for (const line of lines.map(plain)) {
      const isStep = /^step \d+\/\d+ ?:/i.test(line);
      if (isStep) said.length = 0;
      else if (!OF_THE_ENGINE.test(line)) said.push(line);
      if (said.length > 2 * TAIL_LINES) said.splice(0, TAIL_LINES);
      yield { kind: isStep ? 'step' : 'output', text: line };
    }
  }
}

/** Without the colours in which engines repeat standard error, and without what a carriage return overwrote. */
function plain(line: string): string {
  return (
    line
      .replaceAll(/\x1b\[[\d;]*m/g, '')
      .trimEnd()
      .split('\r')
      .pop() ?? ''
  );
}

/** Our own steps end with two lines of ours: what is wrong, and what to do about it. */
function buildFailed(engineSays: string, output: readonly string[], commandFailed: boolean): SandboxError {
  const at = output.findLastIndex((line) => line.startsWith('glovebox: '));
  const [ours, fix] = at < 0 ? [] : output.slice(at);
  const reason =
    ours?.slice('glovebox: '.length) ?? (commandFailed ? output.at(-1) : undefined) ?? engineSays;
  return new SandboxError('SANDBOX_FAILED', `The image could not be built: ${reason}`, {
    hint: fix?.trim() || 'What was said before that is above.',
    details: { output },
  });
}

async function* linesOf(log: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of log) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line.trim() !== '');
  }
  if (rest.trim() !== '') yield rest;
}
