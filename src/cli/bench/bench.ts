import { writeFile } from 'node:fs/promises';
import { liveMemory } from '../../bench/largeProcess.ts';
import { reportToJson } from '../../bench/report/json.ts';
import { latencySvg } from '../../bench/report/svg.ts';
import { ROWS } from '../../bench/rows/index.ts';
import { runBench } from '../../bench/runBench.ts';
import { selectRows } from '../../bench/selectRows.ts';
import { SandboxError } from '../../errors.ts';
import { cancellable } from '../cancel.ts';
import { progressLine } from './progress.ts';
import { benchTable } from './table.ts';

export interface BenchFlags {
  readonly pairs?: string;
  readonly quick?: boolean;
  readonly full?: boolean;
  readonly only?: readonly string[];
  readonly json?: boolean;
  readonly output?: string;
  readonly svg?: string;
  readonly holdMb?: string;
  readonly config?: string;
}

const USUAL_PAIRS = 100;
const QUICK_PAIRS = 20;

/** Measures, and prints the table; resolves to the exit status, which is 1 when a row failed. `program` is our own file. */
export async function bench(flags: BenchFlags, program: string): Promise<number> {
  const rows = selectRows(ROWS, flags);
  const pairs = whole('--pairs', flags.pairs) ?? (flags.quick ? QUICK_PAIRS : USUAL_PAIRS);
  const held = liveMemory(whole('--hold-mb', flags.holdMb) ?? 0);
  return cancellable(async (signal) => {
    const progress = progressLine(rows.length);
    const report = await runBench({
      ...{ rows, pairs, program, signal, onProgress: progress.show },
      ...(flags.config === undefined ? {} : { configFile: flags.config }),
    }).finally(progress.end);
    const json = `${JSON.stringify(reportToJson(report), null, 2)}\n`;
    if (flags.output !== undefined) await writeTo('--output', flags.output, json);
    if (flags.svg !== undefined) await writeTo('--svg', flags.svg, latencySvg(report));
    process.stdout.write(flags.json ? json : `${benchTable(report)}\n`);
    const hasFailed = report.rows.some(({ result }) => result.status === 'failed');
    // Who has us hold memory reads the report. It is held until here.
    return hasFailed && held.length === 0 ? 1 : 0;
  });
}

/** A whole number above zero. Throws `INPUT_INVALID`. */
function whole(flag: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const value = Number(given);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new SandboxError(
    'INPUT_INVALID',
    `${flag} is ${JSON.stringify(given)}, which is no whole number above 0.`,
    {
      hint: `For example: ${flag} 100`,
    },
  );
}

async function writeTo(flag: string, path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw new SandboxError(
      'INPUT_INVALID',
      `${JSON.stringify(path)} cannot be written: ${(error as Error).message}`,
      {
        hint: `Name another file with ${flag}.`,
        details: { path },
        cause: error,
      },
    );
  }
}
