import { SandboxError } from '../../errors.ts';
import { assertReady } from '../../operations/assertReady.ts';
import type { BatchEntry, BatchOptions, BatchSummary } from '../../operations/batch/batch.ts';
import {
  type FoundProgram,
  type ProgramSource,
  programsAt,
  programsFrom,
} from '../../operations/batch/readPrograms.ts';
import { resultLine } from '../../operations/batch/resultLine.ts';
import { runFound } from '../../operations/batch/runFound.ts';
import { stillToRun } from '../../operations/batch/stillToRun.ts';
import { Tally } from '../../operations/batch/tally.ts';
import { type Context, createContext } from '../../operations/context.ts';
import { terminalApprover } from '../../operations/terminalApprover.ts';
import { cancellableProgram } from '../cancel.ts';
import { settingFlags } from '../settingFlags.ts';
import { tellWhereToAnswer, warn } from '../warn.ts';
import { wholeNumber } from '../wholeNumber.ts';
import { OutputFile } from './outputFile.ts';
import { countsInWords, showProgress } from './progress.ts';
import { type Results, standardOutput } from './results.ts';

export interface RunManyFlags {
  readonly output?: string;
  readonly resume?: boolean;
  readonly concurrency?: string;
  readonly runtime?: string;
  readonly timeout?: string;
  readonly memoryMb?: string;
  readonly maxOutputKb?: string;
  readonly minIsolation?: string;
  readonly config?: string;
  readonly json?: boolean;
}

/** Runs many programs and resolves to the exit status. */
export async function runMany(input: string, flags: RunManyFlags): Promise<number> {
  refuseWithoutOutput(flags);
  const concurrency =
    flags.concurrency === undefined ? undefined : wholeNumber('--concurrency', flags.concurrency, 1, 10_000);
  const context = await createContext({
    trustEarlierTrial: true,
    surface: 'batch',
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
  return cancellableProgram(async (signal) => {
    const source =
      input === '-' ? programsFrom(process.stdin, 'standard input', '.') : await programsAt(input);
    await assertReady(context, signal);
    await using results = await resultsFor(flags);
    const batch = { signal, ...(concurrency === undefined ? {} : { concurrency }) };
    const ran = await runAll(context, source, results, batch);
    tell(ran, flags);
    if (ran.cancelled) return 130;
    return ran.errors === 0 ? 0 : 1;
  });
}

function refuseWithoutOutput({ output, resume, json }: RunManyFlags): void {
  if (output !== undefined || !(resume || json)) return;
  const [flag, why] = resume
    ? ['--resume', 'there are results to go on with only in a file']
    : ['--json', 'the results themselves go to standard output'];
  throw new SandboxError('INPUT_INVALID', `${flag} needs --output: ${why}.`, {
    hint: `For example: glovebox run-many programs.jsonl --output results.jsonl ${flag}`,
  });
}

async function resultsFor({ output, resume = false }: RunManyFlags): Promise<Results> {
  return output === undefined ? standardOutput() : OutputFile.take(output, { resume });
}

/** How it went, and how many had results before. */
type Ran = BatchSummary & { readonly skipped: number };

async function runAll(
  context: Context,
  source: ProgramSource,
  results: Results,
  batch: Pick<BatchOptions, 'concurrency'> & { readonly signal: AbortSignal },
): Promise<Ran> {
  const held = results.held.programs;
  // Whatever is wrong with the list is told before anything runs, where it can be read twice.
  const total = source.isLasting ? await count(stillToRun(source.read(), held), batch.signal) : undefined;
  await results.begin();
  const progress = showProgress(total, { bar: hasRoomForBar(context, results) });
  const tally = new Tally();
  const cancelled: string[] = [];
  let skipped = 0;
  try {
    const programs = stillToRun(source.read(), held, () => skipped++);
    const onResult = async (entry: BatchEntry<FoundProgram>): Promise<void> => {
      const line = resultLine({ id: entry.id, sha256: entry.program.sha256 }, entry);
      // They come last, so that they can be cut off and run again.
      if (entry.result?.outcome === 'cancelled') cancelled.push(line);
      else await results.write(line);
      tally.count(entry);
      progress.update(tally.counts);
    };
    const summary = await runFound(context, programs, { ...batch, onResult }, eachOnce(warn));
    for (const line of cancelled) await results.write(line);
    return { ...summary, skipped };
  } finally {
    progress.stop();
  }
}

async function count(items: AsyncIterable<unknown>, signal: AbortSignal): Promise<number> {
  let number = 0;
  for await (const _item of items) {
    if (signal.aborted) break;
    number++;
  }
  return number;
}

/** Neither results on the same terminal nor a question that is asked there may be painted over. */
function hasRoomForBar({ oversight }: Context, { isTerminal }: Results): boolean {
  return process.stderr.isTTY === true && !isTerminal && oversight?.gate === undefined;
}

/** So many are told; a warning that names a program's own values would otherwise come without end. */
const MAX_WARNINGS = 20;

/** Tells each warning only once: thousands of programs have the same. */
function eachOnce(tellWarning: (warning: string) => void): (warning: string) => void {
  const known = new Set<string>();
  return (warning) => {
    if (known.has(warning) || known.size === MAX_WARNINGS) return;
    known.add(warning);
    tellWarning(warning);
  };
}

function tell(ran: Ran, { output, json }: RunManyFlags): void {
  const { programs, skipped, outcomes, duration } = ran;
  const earlier = skipped === 0 ? '' : `; ${skipped} had a result already`;
  const words = countsInWords(ran, outcomes.timed_out);
  process.stderr.write(`glovebox: ${programs} programs in ${duration.toFixed(1)} s: ${words}${earlier}\n`);
  if (ran.cancelled) process.stderr.write(`glovebox: cancelled. ${howToGoOn(output)}\n`);
  if (json) process.stdout.write(`${JSON.stringify(ran)}\n`);
}

function howToGoOn(output: string | undefined): string {
  return output === undefined
    ? 'With --output FILE, it can be gone on with.'
    : 'To go on: the same command with --resume. What was cancelled runs again.';
}
