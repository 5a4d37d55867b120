import { descendants, memoryMb } from '../processes.ts';
import type { Bench, NotMeasured, Row } from '../row.ts';
import { spreadOf } from '../statistics.ts';
import { notWarm } from './comparison.ts';
import { PYTHON } from './programs.ts';

/** How many more wait the second time: what all of them share is in both figures, and so in neither row's. */
const FEW = 2;
const MORE = 10;

const MANY = 1000;

/** What sandboxes cost that only wait. */
export const IDLE_ROWS: readonly Row[] = [
  {
    name: 'bubblewrap.python.idle_memory',
    what: `Memory that one more waiting sandbox takes, all its processes (PSS): ${MORE} that wait less ${FEW}, by ${MORE - FEW}.`,
    unit: 'MB',
    async measure(bench) {
      const missing = await bench.whyNot('bubblewrap');
      if (missing !== undefined) return missing;
      const rounds = Math.max(3, Math.ceil(bench.pairs / 20));
      const each: number[] = [];
      for (let round = 0; round < rounds; round++) {
        bench.signal.throwIfAborted();
        const few = await withWaiting(bench, FEW, async () => memoryMb(descendants()));
        if (typeof few !== 'number') return few;
        const more = await withWaiting(bench, MORE, async () => memoryMb(descendants()));
        if (typeof more !== 'number') return more;
        each.push((more - few) / (MORE - FEW));
        bench.progress(round + 1, rounds);
      }
      return { status: 'measured', ours: spreadOf(each) };
    },
  },
  {
    name: 'bubblewrap.python.warm.idle_1000',
    what: `bubblewrap.python.warm while ${MANY.toLocaleString('en')} sandboxes wait, to the same while 10 do: these are measured before and after.`,
    unit: 'ms',
    onlyFull: true,
    async measure(bench) {
      const missing = await bench.whyNot('bubblewrap');
      if (missing !== undefined) return missing;
      const half = Math.ceil(bench.pairs / 2);
      const before = await withWaiting(bench, MORE, (next) => times(bench, next, half, 0));
      if ('status' in before) return before;
      const many = await withWaiting(bench, MANY, (next) => times(bench, next, 2 * half, half));
      if ('status' in many) return many;
      const after = await withWaiting(bench, MORE, (next) => times(bench, next, half, 3 * half));
      if ('status' in after) return after;
      const ours = spreadOf(many);
      const baseline = spreadOf([...before, ...after]);
      return {
        status: 'measured',
        ours,
        baseline: { ...baseline, what: `ours while ${MORE} wait` },
        ratio: ours.p50 / baseline.p50,
      };
    },
  },
];

/** Does something while so many wait; `next` runs a program in one of them, which another one then replaces. */
async function withWaiting<Result>(
  bench: Bench,
  waiting: number,
  measure: (next: () => Promise<number>) => Promise<Result>,
): Promise<Result | NotMeasured> {
  const sandbox = await bench.open({ runtime: 'bubblewrap', warm: true, waiting });
  try {
    const because = await sandbox.ready('python');
    if (because !== undefined) return notWarm(because);
    return await measure(async () => {
      await sandbox.ready('python');
      const start = performance.now();
      const result = await sandbox.run(PYTHON);
      const milliseconds = performance.now() - start;
      if (result.meta.warm === undefined) throw new Error('One was not warm.');
      return milliseconds;
    });
  } finally {
    await sandbox.close();
  }
}

async function times(
  { pairs, progress, signal }: Bench,
  next: () => Promise<number>,
  count: number,
  done: number,
): Promise<number[]> {
  const measured: number[] = [];
  for (let run = 0; run < count; run++) {
    signal.throwIfAborted();
    measured.push(await next());
    progress(done + run + 1, 4 * Math.ceil(pairs / 2));
  }
  return measured;
}
