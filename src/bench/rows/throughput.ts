import { availableParallelism } from 'node:os';
import { compare, type Subject, timePairs } from '../pairs.ts';
import type { Row } from '../row.ts';
import { BARE_PYTHON, PYTHON } from './programs.ts';

/** How many programs each of those that run side by side starts in one round. */
const PROGRAMS_EACH = 25;

/** Twice as many programs at a time as there are cores, many more of them than wait. */
export const THROUGHPUT_ROW: Row = {
  name: 'bubblewrap.python.throughput',
  what: 'print(1) again and again, two at a time for each core, each in a sandbox of its own, the making of new ones included.',
  unit: 'executions/s',
  async measure(bench) {
    const missing = await bench.whyNot('bubblewrap');
    if (missing !== undefined) return missing;
    const concurrency = 2 * availableParallelism();
    const bare = await BARE_PYTHON.subject(bench);
    const sandbox = await bench.open({ runtime: 'bubblewrap', warm: true });
    try {
      const warmed: boolean[] = [];
      const times = await timePairs({
        pairs: bench.pairs,
        progress: bench.progress,
        signal: bench.signal,
        ours: async () => {
          await atOnce(concurrency, async () => {
            warmed.push((await sandbox.run(PYTHON)).meta.warm !== undefined);
          });
          // A round ends as it began, with as many that wait: what it has used up is paid for in it.
          await sandbox.ready('python');
        },
        baseline: () => atOnce(concurrency, bare),
      });
      const perSec = (milliseconds: number): number => (1000 * concurrency * PROGRAMS_EACH) / milliseconds;
      const compared = compare({ ours: times.ours.map(perSec), baseline: times.baseline.map(perSec) });
      return {
        status: 'measured',
        ...compared,
        baseline: { ...compared.baseline, what: `${BARE_PYTHON.what}, as many at a time` },
        also: { found_waiting_percent: (100 * warmed.filter(Boolean).length) / warmed.length },
      };
    } finally {
      await sandbox.close();
    }
  },
};

async function atOnce(concurrency: number, program: Subject): Promise<void> {
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (let count = 0; count < PROGRAMS_EACH; count++) await program();
    }),
  );
}
