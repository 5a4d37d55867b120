import { processorSec } from '../processes.ts';
import type { Bench, Row } from '../row.ts';
import { spreadOf } from '../statistics.ts';

const GIGABYTE = 1_000_000_000;

/** How much is written in one flood. */
const FLOOD_BYTES = 2 * GIGABYTE;

const CODE = `import os
chunk = b"x" * 1_000_000
for _ in range(${FLOOD_BYTES / 1_000_000}):
    left = memoryview(chunk)
    while left:
        left = left[os.write(1, left):]`;

/** Output far beyond the limit: what it costs to read it and throw it away. */
export const FLOOD_ROW: Row = {
  name: 'flood',
  what: `${FLOOD_BYTES / GIGABYTE} GB of output from one program in bubblewrap, of which the result keeps 10 KB: bytes by the processor seconds of all that is not inside the sandbox.`,
  unit: 'GB/s per core',
  async measure(bench) {
    const missing = await bench.whyNot('bubblewrap');
    if (missing !== undefined) return missing;
    const sandbox = await bench.open({ runtime: 'bubblewrap', warm: false });
    try {
      const floods = Math.max(3, Math.ceil(bench.pairs / 20));
      const measured: Flood[] = [];
      // The first one is not counted: it loads what reading takes.
      for (let flood = -1; flood < floods; flood++) {
        bench.signal.throwIfAborted();
        const figures = await once(sandbox);
        if (flood >= 0) measured.push(figures);
        bench.progress(flood + 1, floods);
      }
      return {
        status: 'measured',
        ours: spreadOf(measured.map(({ perCore }) => perCore)),
        also: {
          by_the_wall_clock_gb_per_s: spreadOf(measured.map(({ byTheClock }) => byTheClock)).p50,
          memory_growth_mb: Math.max(...measured.map(({ grownMb }) => grownMb)),
        },
      };
    } finally {
      await sandbox.close();
    }
  },
};

interface Flood {
  /** Both in GB per second. */
  readonly perCore: number;
  readonly byTheClock: number;
  /** How much more this process held at its height than before. */
  readonly grownMb: number;
}

async function once(sandbox: Awaited<ReturnType<Bench['open']>>): Promise<Flood> {
  const before = { memory: process.memoryUsage.rss(), processor: processorSec(), time: performance.now() };
  let peak = before.memory;
  const sampling = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 10);
  try {
    const { outcome, meta } = await sandbox.execute({ language: 'python', code: CODE }, { timeout: 120 });
    if (outcome !== 'exited' || meta.stdoutBytes !== FLOOD_BYTES) {
      throw new Error(`${outcome} after ${meta.stdoutBytes} bytes`);
    }
  } finally {
    clearInterval(sampling);
  }
  const seconds = (performance.now() - before.time) / 1000;
  return {
    perCore: FLOOD_BYTES / GIGABYTE / (processorSec() - before.processor),
    byTheClock: FLOOD_BYTES / GIGABYTE / seconds,
    grownMb: (peak - before.memory) / 1024 ** 2,
  };
}
