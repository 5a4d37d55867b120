import type { Context } from '../context.ts';
import { executeOnce } from '../execute.ts';
import type { BatchOptions, BatchSummary } from './batch.ts';
import type { FoundProgram } from './readPrograms.ts';
import { runBatch } from './runBatch.ts';
import { concurrencyFor, whileWarm } from './whileWarm.ts';

/** Runs the programs that were found, each in a sandbox of its own; see `runBatch`. */
export async function runFound(
  context: Context,
  programs: AsyncIterable<FoundProgram>,
  options: BatchOptions<FoundProgram>,
  /** Told what the caller should know as soon as it is known; of each program anew. */
  onWarning: (warning: string) => void,
): Promise<BatchSummary> {
  const concurrency = concurrencyFor(context, options.concurrency);
  return whileWarm(context, (warmed) =>
    runBatch(
      programs,
      { ...options, concurrency },
      {
        idOf: ({ id }) => id,
        async execute(found, signal) {
          if ('error' in found) throw found.error;
          const { id: _id, code, ...given } = found.program;
          return executeOnce(warmed, { code }, { ...given, signal }, onWarning);
        },
      },
    ),
  );
}
