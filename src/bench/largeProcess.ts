import { bareProcess } from './bareProcess.ts';
import { type JsonReport, reportFromJson } from './report/json.ts';
import type { Measured, NotMeasured } from './row.ts';

/**
 * So many MB of live memory in this process, for as long as somebody keeps the list: half of it objects and half of it
 * buffers. Only the buffers make a fork slower: V8 keeps its own heap out of one (`MADV_DONTFORK`, to be seen as `dc` in
 * `/proc/PID/smaps`), so that objects alone would show nothing.
 */
export function liveMemory(megabytes: number): readonly unknown[] {
  return Array.from({ length: megabytes }, (_, index) =>
    index % 2 === 0 ? Buffer.alloc(1024 ** 2, index) : new Array(1024 ** 2 / 8).fill(index + 0.5),
  );
}

export interface LargeProcess {
  /** The file of the command line itself. */
  readonly program: string;
  readonly name: string;
  readonly pairs: number;
  readonly heldMb: number;
  readonly configFile: string;
  readonly signal: AbortSignal;
}

/** Measures one row in another process of this command, which first holds so many MB. */
export async function measureInLargeProcess({
  program,
  name,
  pairs,
  heldMb,
  configFile,
  signal,
}: LargeProcess): Promise<Measured | NotMeasured> {
  const args = [
    ...[...process.execArgv, `--max-old-space-size=${2 * heldMb + 1024}`],
    ...[program, 'bench', '--json', '--only', name, '--pairs', String(pairs)],
    ...['--hold-mb', String(heldMb), '--config', configFile],
  ];
  const output = await bareProcess(process.execPath, args, { signal });
  const [row] = reportFromJson(JSON.parse(output) as JsonReport).rows;
  if (row === undefined) throw new Error(`The other process has measured nothing: ${output}`);
  return row.result;
}
