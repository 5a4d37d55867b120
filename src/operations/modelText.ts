import { constants } from 'node:os';
import { isSandboxError } from '../errors.ts';
import type { LimitName } from '../policy/policy.ts';
import type { ExecutionResult } from '../result/result.ts';
import { Capture } from '../sandbox/capture.ts';

/** Room for both streams at their default limit of 10 KB, of which only one is ever shown in full. */
const DEFAULT_LIMIT_BYTES = 16 * 1024;
const ERROR_CHARACTERS = 2000;
const SIDE_CHARACTERS = 1000;

/** One compact string for a model: the output, or what went wrong and what to do next. Never throws. */
export function resultForModel(result: ExecutionResult, limitBytes: number = DEFAULT_LIMIT_BYTES): string {
  const text = result.ok ? successText(result) : failureText(result);
  const capture = new Capture(limitBytes);
  capture.push(Buffer.from(text));
  return capture.finish().text;
}

/** The same for what was thrown instead of a result: the message, and the hint where there is one. Never throws. */
export function errorForModel(error: unknown): string {
  if (isSandboxError(error)) return `Error (${error.code}): ${error.message} ${error.hint}`.trimEnd();
  if (error instanceof Error) return `Error: ${error.message || error.name}`;
  return `Error: ${typeof error === 'string' && error !== '' ? error : 'something failed without saying what'}`;
}

function successText(result: ExecutionResult): string {
  return joinSections([
    printed(result.stdout) + byteCount(result),
    section('stderr', lastLines(result.stderr, SIDE_CHARACTERS)),
  ]);
}

/** Never nothing: a model takes an empty answer for a tool that broke. */
function printed(stdout: string): string {
  if (stdout === '') return '(no output)';
  return stdout.trim() === '' ? '(nothing but white space)' : stdout;
}

function failureText(result: ExecutionResult): string {
  const { message, stderr } = failure(result);
  return joinSections([
    `Error (exit_code=${result.exitCode}): ${message}`,
    section('stderr', stderr),
    section('stdout', result.stdout.trim() === '' ? '' : result.stdout + byteCount(result)),
  ]);
}

/** What to say first, and how much of stderr it does not already hold. */
function failure(result: ExecutionResult): { message: string; stderr: string } {
  const stderr = lastLines(result.stderr, ERROR_CHARACTERS);
  const aside = lastLines(result.stderr, SIDE_CHARACTERS);
  switch (result.outcome) {
    case 'exited':
      return { message: stderr || 'the program failed and wrote nothing to stderr.', stderr: '' };
    case 'blocked':
      return { message: stderr || blockedMessage(result), stderr: '' };
    case 'denied':
      return {
        message:
          stderr ||
          'denied: nobody approved this code. Do not repeat it; say what it is for, or do without it.',
        stderr: '',
      };
    case 'timed_out':
      return { message: timedOutMessage(result), stderr: withoutTimeoutSentence(aside) };
    case 'out_of_memory':
      return { message: outOfMemoryMessage(result), stderr: aside };
    case 'killed':
      return { message: killedMessage(result), stderr: aside };
    case 'cancelled':
      return { message: 'cancelled before the program ended; nobody waits for it any more.', stderr: aside };
  }
}

function blockedMessage({ meta }: ExecutionResult): string {
  const modules = meta.blockedImports.length === 0 ? 'a module' : meta.blockedImports.join(', ');
  return `blocked before running: the code uses ${modules}, which is not allowed here. Do without it.`;
}

function timedOutMessage(result: ExecutionResult): string {
  const seconds = limit(result, 'timeoutSec') ?? Math.round(result.duration * 10) / 10;
  return `timed out after ${seconds} s. Do less work in one call, look for an endless loop or a wait for input, or ask for a larger timeout.`;
}

function outOfMemoryMessage(result: ExecutionResult): string {
  const memoryMb = limit(result, 'memoryMb');
  const what =
    memoryMb === null ? 'out of memory' : `out of memory: more than the limit of ${memoryMb} MB was needed`;
  return `${what}. Work on smaller pieces, read files as a stream, or ask for more memory.`;
}

function killedMessage({ meta, exitCode }: ExecutionResult): string {
  const signal = meta.signal ?? exitCode - 128;
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  const by = name === undefined ? `signal ${signal}` : `${name} (signal ${signal})`;
  return `killed by ${by}${KILLED_BY_ADVICE[meta.killedBy ?? 'other']}`;
}

const KILLED_BY_ADVICE = {
  timeout: ': its time was over. Do less work in one call.',
  memory: ': it used too much memory. Work on smaller pieces.',
  cpu: ': it used too much processor time. Do less work in one call.',
  file_size: ': it wrote a file that is too large. Write less, or several smaller files.',
  lifetime: ': the time of its sandbox was over. Make a new sandbox.',
  other: '. No limit is known to have ended it: it crashed, or it was ended from elsewhere.',
} as const;

/** What held, else what was wanted; null where neither is known. */
function limit({ meta }: ExecutionResult, name: LimitName): number | null {
  return meta.enforced?.limits[name].value ?? meta.resourceLimits[name];
}

/** How much there was in truth, where the text above is only a part of it. */
function byteCount({ stdout, meta }: ExecutionResult): string {
  if (meta.stdoutBytes <= Buffer.byteLength(stdout)) return '';
  return `${stdout.endsWith('\n') ? '' : '\n'}(stdout had ${meta.stdoutBytes} bytes in all)`;
}

/** The message has said it, with advice. */
function withoutTimeoutSentence(stderr: string): string {
  const lines = stderr.split('\n');
  return lines.at(-1)?.includes('timed out') ? lines.slice(0, -1).join('\n').trimEnd() : stderr;
}

/** The useful end: whole lines, as many as fit. A last line that is too long by itself keeps its two ends. */
function lastLines(text: string, characters: number): string {
  const trimmed = text.trimEnd();
  if (trimmed.length <= characters) return trimmed;
  const lastLine = trimmed.slice(trimmed.lastIndexOf('\n') + 1);
  if (lastLine.length > characters) return bothEnds(lastLine, characters);
  const end = trimmed.slice(-characters - 1);
  return `...\n${end.slice(end.indexOf('\n') + 1)}`;
}

/** Does not leave half of a surrogate pair at the cut. */
function bothEnds(line: string, characters: number): string {
  const half = Math.floor(characters / 2);
  const start = line.slice(0, half).replace(/[\uD800-\uDBFF]$/, '');
  const end = line.slice(-half).replace(/^[\uDC00-\uDFFF]/, '');
  return `${start} ... ${end}`;
}

function section(title: string, text: string): string {
  return text.trim() === '' ? '' : `[${title}]\n${text}`;
}

function joinSections(sections: readonly string[]): string {
  return sections
    .filter((text) => text !== '')
    .map((text) => text.trimEnd())
    .join('\n');
}
