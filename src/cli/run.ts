import { stat, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { SandboxError } from '../errors.ts';
import { createContext } from '../operations/context.ts';
import { executeOnce } from '../operations/execute.ts';
import type { ExecuteOptions } from '../operations/options.ts';
import { terminalApprover } from '../operations/terminalApprover.ts';
import type { ExecutionResult } from '../result/result.ts';
import { resultToJson } from '../result/resultJson.ts';
import { cancellableProgram } from './cancel.ts';
import { type Ending, exitStatus, printEnd } from './ending.ts';
import { passOn } from './passOn.ts';
import { type ProgramFlags, parseVariable, readHostFile, whatToRun } from './program.ts';
import { settingFlags } from './settingFlags.ts';
import { standardInput } from './standardInput.ts';
import { forTerminal } from './terminal.ts';
import { tellWhereToAnswer, warn } from './warn.ts';

export interface RunFlags extends ProgramFlags {
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
    surface: 'cli',
    approvers: [terminalApprover(tellWhereToAnswer)],
    ...(flags.config === undefined ? {} : { configFile: flags.config }),
    ...settingFlags({
      '--runtime': flags.runtime,
      '--timeout': flags.timeout,
      '--memory-mb': flags.memoryMb,
      '--max-output-kb': flags.maxOutputKb,
      '--min-isolation': flags.minIsolation,
    }),
  });
  const { job, programArgs, language } = await whatToRun(file, args, flags, 'glovebox run');
  const outs = (flags.out ?? []).map(parseOut);
  return cancellableProgram(async (signal) => {
    const stdin = await standardInput(file, flags);
    const options: ExecuteOptions = {
      ...(language === undefined ? {} : { language }),
      args: programArgs,
      env: Object.fromEntries((flags.env ?? []).map(parseVariable)),
      files: Object.fromEntries(await Promise.all((flags.file ?? []).map(readInput))),
      collect: outs.map(({ name }) => name),
      signal,
      ...(stdin === undefined ? {} : { stdin }),
      ...networkOption(flags),
      // With a limit given, what is printed is cut as the result is; without one, all of it goes through.
      ...(flags.json || flags.maxOutputKb !== undefined ? {} : { onOutput: passOn }),
    };
    const result = await executeOnce(context, job, options, warn);
    const missing = await writeOuts(outs, result);
    if (missing !== undefined && result.ok) throw missing;
    if (flags.json) printJson(result, outs);
    else await printEnd(endingOf(result), flags.maxOutputKb === undefined);
    return exitStatus(result);
  });
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

function networkOption(flags: RunFlags): Pick<ExecuteOptions, 'network' | 'allowedDomains'> {
  if (flags.allowDomain !== undefined) {
    if (flags.network !== undefined) {
      throw new SandboxError(
        'INPUT_INVALID',
        `--allow-domain and --network ${flags.network} contradict each other.`,
        {
          hint: 'Leave one of them out.',
        },
      );
    }
    return { allowedDomains: flags.allowDomain };
  }
  return flags.network === undefined ? {} : { network: flags.network };
}

function endingOf({ outcome, stdout, stderr, meta }: ExecutionResult): Ending {
  const { timeoutSec, memoryMb } = meta.resourceLimits;
  const { killedBy, signal } = meta;
  return { outcome, stdout, stderr, timeoutSec, memoryMb, killedBy, signal };
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

function printJson(result: ExecutionResult, outs: readonly Out[]): void {
  const { files, ...json } = resultToJson(result) as { files?: Record<string, { size: number }> };
  // Their content is on the disk; here it would only be a very long line.
  const written = outs.flatMap(({ name, host }) => {
    const size = files?.[name]?.size;
    return size === undefined ? [] : [[name, { path: host, size }] as const];
  });
  const shown = written.length === 0 ? json : { ...json, files: Object.fromEntries(written) };
  process.stdout.write(`${JSON.stringify(shown)}\n`);
}
