import { once } from 'node:events';
import { fstatSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { SandboxError } from '../errors.ts';
import { languageOfFile } from '../languages/index.ts';
import { createContext } from '../operations/context.ts';
import { executeOnce, type Job } from '../operations/execute.ts';
import type { ExecuteOptions } from '../operations/options.ts';
import type { OutputChunk } from '../result/output.ts';
import type { ExecutionResult } from '../result/result.ts';
import { resultToJson } from '../result/resultJson.ts';
import { cancelOnSignals } from './cancel.ts';
import { forTerminal } from './terminal.ts';

export interface RunFlags {
  readonly code?: string;
  readonly language?: string;
  readonly command?: boolean;
  readonly file?: readonly string[];
  readonly out?: readonly string[];
  readonly stdin?: string;
  readonly runtime?: string;
  readonly timeout?: string;
  readonly memoryMb?: string;
  readonly maxOutputKb?: string;
  readonly minIsolation?: string;
  readonly allowDomain?: readonly string[];
  readonly network?: 'none' | 'open';
  readonly env?: readonly string[];
  readonly config?: string;
  readonly json?: boolean;
}

/** Runs once and resolves to the exit status. */
export async function run(
  file: string | undefined,
  args: readonly string[],
  flags: RunFlags,
): Promise<number> {
  const context = await createContext({
    trustEarlierTrial: true,
    ...(flags.config === undefined ? {} : { configFile: flags.config }),
    overrides: {
      type: flags.runtime,
      timeoutSec: flags.timeout,
      memoryMb: flags.memoryMb,
      maxOutputKb: flags.maxOutputKb,
      minIsolation: flags.minIsolation,
    },
    overrideKind: 'flag',
    overrideNames: {
      type: '--runtime',
      timeoutSec: '--timeout',
      memoryMb: '--memory-mb',
      maxOutputKb: '--max-output-kb',
      minIsolation: '--min-isolation',
    },
  });
  const { job, programArgs, language } = await whatToRun(file, args, flags);
  const outs = (flags.out ?? []).map(parseOut);
  const cancel = cancelOnSignals();
  const stdin = await standardInput(file, flags);
  const options: ExecuteOptions = {
    ...(language === undefined ? {} : { language }),
    args: programArgs,
    env: Object.fromEntries((flags.env ?? []).map(parseVariable)),
    files: Object.fromEntries(await Promise.all((flags.file ?? []).map(readInput))),
    collect: outs.map(({ name }) => name),
    signal: cancel.signal,
    ...(stdin === undefined ? {} : { stdin }),
    ...networkOption(flags),
    // With a limit given, what is printed is cut as the result is; without one, all of it goes through.
    ...(flags.json || flags.maxOutputKb !== undefined ? {} : { onOutput: passOn }),
  };
  try {
    const result = await executeOnce(context, job, options, warn);
    const missing = await writeOuts(outs, result);
    if (missing !== undefined && result.ok) throw missing;
    await (flags.json ? printJson(result, outs) : printRest(result, flags));
    return exitStatus(result);
  } catch (error) {
    // Our own output failed, and that has been told.
    if (typeof process.exitCode === 'number' && process.exitCode !== 0) return process.exitCode;
    // Ctrl-C may hit while the sandbox is being made.
    if (!cancel.signal.aborted) throw error;
    process.stderr.write('glovebox: cancelled\n');
    return 130;
  } finally {
    cancel.dispose();
    // Ours may still be open on a terminal's or a caller's pipe that nobody will write to.
    process.stdin.destroy();
  }
}

/** The exit status of the command line for a result. */
export function exitStatus({ outcome, exitCode }: Pick<ExecutionResult, 'outcome' | 'exitCode'>): number {
  switch (outcome) {
    case 'exited':
      return exitCode;
    case 'timed_out':
      return 124;
    case 'blocked':
    case 'denied':
      return 126;
    case 'cancelled':
      return 130;
    case 'killed':
    case 'out_of_memory':
      return 137;
  }
}

interface What {
  readonly job: Job;
  readonly programArgs: readonly string[];
  readonly language?: string;
}

async function whatToRun(file: string | undefined, args: readonly string[], flags: RunFlags): Promise<What> {
  const all = file === undefined ? args : [file, ...args];
  if (flags.command) {
    const [program, ...rest] = all;
    if (flags.code !== undefined || program === undefined) {
      throw new SandboxError('INPUT_INVALID', '--command needs the command after --, and no code.', {
        hint: 'For example: glovebox run --command -- ls -la',
      });
    }
    return { job: { command: [program, ...rest] }, programArgs: [] };
  }
  if (flags.code !== undefined) {
    return { job: { code: flags.code }, programArgs: all, ...languageOption(flags.language) };
  }
  if (file === undefined) {
    throw new SandboxError('INPUT_INVALID', 'There is nothing to run.', {
      hint: 'Name a file, give code with -c, or read it from standard input with -: glovebox run hello.py',
    });
  }
  const code = file === '-' ? await buffer(process.stdin) : await readHostFile(file, 'The program');
  return {
    job: { code },
    programArgs: args,
    ...languageOption(flags.language ?? languageOfFile(file)?.name),
  };
}

function languageOption(language: string | undefined): { language?: string } {
  return language === undefined ? {} : { language };
}

async function readHostFile(path: string, what: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason =
      code === 'ENOENT' ? 'does not exist' : code === 'EISDIR' ? 'is a folder' : `cannot be read (${code})`;
    throw new SandboxError('INPUT_INVALID', `${what} ${JSON.stringify(path)} ${reason}.`, {
      hint: 'Check the path; it is relative to the folder that you are in.',
      details: { path },
      cause: error,
    });
  }
}

/** `HOST` or `HOST:NAME`; a colon that belongs to the host's name is left alone when such a file exists. */
async function readInput(given: string): Promise<[string, Uint8Array]> {
  const colon = given.lastIndexOf(':');
  const whole = colon <= 0 || (await stat(given).catch(() => undefined)) !== undefined;
  const host = whole ? given : given.slice(0, colon);
  const name = whole ? basename(given) : given.slice(colon + 1);
  return [name, await readHostFile(host, 'The file')];
}

function parseOut(given: string): { name: string; host: string } {
  const colon = given.indexOf(':');
  const name = colon <= 0 ? given : given.slice(0, colon);
  return { name, host: colon <= 0 ? basename(given) : given.slice(colon + 1) };
}

function parseVariable(given: string): [string, string] {
  const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(given) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw new SandboxError(
    'INPUT_INVALID',
    `--env needs NAME=VALUE, and ${JSON.stringify(given.split('=')[0])} is not that.`,
    {
      hint: 'For example: --env GREETING=hello',
    },
  );
}

function networkOption(flags: RunFlags): Pick<ExecuteOptions, 'network'> {
  if (flags.allowDomain !== undefined) {
    if (flags.network === 'none') {
      throw new SandboxError('INPUT_INVALID', '--allow-domain and --network none contradict each other.', {
        hint: 'Leave one of them out.',
      });
    }
    return { network: 'allowlist' };
  }
  return flags.network === undefined ? {} : { network: flags.network };
}

async function standardInput(
  file: string | undefined,
  { stdin, code, command }: RunFlags,
): Promise<Uint8Array | Readable | undefined> {
  if (stdin?.startsWith('@')) return readHostFile(stdin.slice(1), 'The input file');
  if (stdin !== undefined) return Buffer.from(stdin);
  const codeCameFromThere = file === '-' && code === undefined && !command;
  return codeCameFromThere || isNothingToRead() ? undefined : process.stdin;
}

/** A terminal is not passed on; the null device and a closed descriptor hold nothing. */
function isNothingToRead(): boolean {
  if (process.stdin.isTTY) return true;
  try {
    return fstatSync(0).isCharacterDevice();
  } catch {
    // EBADF: standard input is closed.
    return true;
  }
}

/** Writes what came, byte for byte, and waits where the reader is slow. */
async function passOn({ stream, bytes }: OutputChunk): Promise<void> {
  // A copy: the bytes are only lent, and may be waiting in our stream's buffer for long.
  if (process[stream].write(Buffer.from(bytes))) return;
  await once(process[stream], 'drain');
}

function warn(warning: string): void {
  process.stderr.write(`glovebox: warning: ${forTerminal(warning)}\n`);
}

/** What is left to say after the output has gone through: the cut output, and how it ended. */
async function printRest(result: ExecutionResult, flags: RunFlags): Promise<void> {
  const streamed = flags.maxOutputKb === undefined && result.outcome !== 'blocked';
  if (!streamed) {
    process.stdout.write(result.stdout);
    process.stderr.write(result.stderr);
  }
  const sentence = howItEnded(result);
  if (sentence !== undefined) process.stderr.write(`glovebox: ${sentence}\n`);
}

function howItEnded({ outcome, meta }: ExecutionResult): string | undefined {
  switch (outcome) {
    case 'timed_out':
      return `timed out after ${meta.resourceLimits.timeoutSec} s. A larger limit: --timeout`;
    case 'out_of_memory':
      return `out of memory: the limit is ${meta.resourceLimits.memoryMb} MB. A larger limit: --memory-mb`;
    case 'killed':
      return meta.killedBy === undefined
        ? `killed by signal ${meta.signal}`
        : `killed by its limit: ${meta.killedBy}`;
    case 'cancelled':
      return 'cancelled';
    default:
      return undefined;
  }
}

type Out = ReturnType<typeof parseOut>;

/** Writes the files that came back; resolves to what to say when one is missing. */
async function writeOuts(outs: readonly Out[], result: ExecutionResult): Promise<SandboxError | undefined> {
  let missing: SandboxError | undefined;
  for (const { name, host } of outs) {
    const data = result.files?.[name];
    if (data !== undefined) {
      await writeOut(host, data);
      continue;
    }
    const reason = result.meta.notCollected?.[name] ?? 'Nothing was run.';
    missing ??= new SandboxError('FILE_NOT_FOUND', `${name} was not brought back: ${reason}`, {
      hint: 'Let the program write it in its working folder, under the name that --out gives.',
      details: { name, result: resultToJson(result) },
    });
  }
  if (missing !== undefined && !result.ok)
    process.stderr.write(`glovebox: ${forTerminal(missing.message)}\n`);
  return missing;
}

async function writeOut(host: string, data: Uint8Array): Promise<void> {
  try {
    await writeFile(host, data);
  } catch (error) {
    throw new SandboxError(
      'INPUT_INVALID',
      `${JSON.stringify(host)} cannot be written: ${(error as Error).message}`,
      {
        hint: 'Name a place that you may write: --out NAME:HOST',
        cause: error,
      },
    );
  }
}

async function printJson(result: ExecutionResult, outs: readonly Out[]): Promise<void> {
  const { files, ...json } = resultToJson(result) as { files?: Record<string, { size: number }> };
  // Their content is on the disk; here it would only be a very long line.
  const written = outs.flatMap(({ name, host }) => {
    const size = files?.[name]?.size;
    return size === undefined ? [] : [[name, { path: host, size }] as const];
  });
  const shown = written.length === 0 ? json : { ...json, files: Object.fromEntries(written) };
  process.stdout.write(`${JSON.stringify(shown)}\n`);
}
