import { bareProcess } from './bareProcess.ts';
import { type JsonReport, resultFromJson } from './report/json.ts';
import type { Measured, NotMeasured } from './row.ts';

/** Objects that stay: so many MB of this process's heap, for as long as somebody keeps the list. */
export function liveHeap(megabytes: number): readonly unknown[] {
  // Each is a list of fractions, which take eight bytes.
  return Array.from({ length: megabytes }, (_, index) => new Array(1024 ** 2 / 8).fill(index + 0.5));
}

export interface LargeProcess {
  /** The file of the command line itself. */
  readonly program: string;
  readonly name: string;
  readonly pairs: number;
  readonly heapMb: number;
  readonly configFile: string;
}

/** Measures one row in another process of this command, which first fills its heap. */
export async function measureInLargeProcess({
  program,
  name,
  pairs,
  heapMb,
  configFile,
}: LargeProcess): Promise<Measured | NotMeasured> {
  const output = await bareProcess(process.execPath, [
    ...process.execArgv,
    `--max-old-space-size=${2 * heapMb + 1024}`,
    ...[program, 'bench', '--json', '--only', name, '--pairs', String(pairs)],
    ...['--heap-mb', String(heapMb), '--config', configFile],
  ]);
  const [row] = (JSON.parse(output) as JsonReport).rows;
  if (row === undefined) throw new Error(`The other process has measured nothing: ${output}`);
  return resultFromJson(row);
}
