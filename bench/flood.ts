/**
 * How fast output is taken from a program that never stops printing, most of it only to be discarded: bytes for each
 * second of processor time of Node's main thread, and how much memory grew meanwhile. `--json` prints JSON;
 * `--gigabytes N` (4).
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { getSandbox } from '../src/index.ts';

export interface Flood {
  readonly gigabytes: number;
  readonly seconds: number;
  /** Of processor time of the main thread. */
  readonly mainThreadSec: number;
  readonly gigabytesPerSecPerCore: number;
  readonly grownMb: number;
}

const GIGABYTE = 1e9;

/** Lets a program print so much through `execute`, and measures it. Linux only. */
export async function measureFlood(runtime: string, gigabytes: number): Promise<Flood> {
  const sandbox = getSandbox({ runtime });
  const bytes = Math.round(gigabytes * GIGABYTE);
  const print = async (count: number): Promise<void> => {
    const result = await sandbox.execute(`head -c ${count} /dev/zero`, { language: 'shell', timeout: 600 });
    const counted = result.meta.stdoutBytes;
    if (counted !== count) throw new Error(`${runtime}: ${counted} of ${count} bytes were counted`);
  };
  await print(GIGABYTE / 10);
  const [rss, cpu, start] = [process.memoryUsage.rss(), mainThreadSec(), performance.now()];
  await print(bytes);
  const seconds = (performance.now() - start) / 1000;
  const used = mainThreadSec() - cpu;
  return {
    ...{ gigabytes, seconds, mainThreadSec: used, gigabytesPerSecPerCore: gigabytes / used },
    grownMb: (process.memoryUsage.rss() - rss) / 1024 ** 2,
  };
}

/** The first figure of schedstat is the time on a processor, in nanoseconds (Documentation/scheduler/sched-stats). */
function mainThreadSec(): number {
  const [onProcessor = '0'] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
  return Number(onProcessor) / 1e9;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values } = parseArgs({
    options: { json: { type: 'boolean', default: false }, gigabytes: { type: 'string', default: '4' } },
  });
  process.env['SANDBOX_STORE_CODE'] = 'never';
  const flood = await measureFlood('bubblewrap', Number(values.gigabytes));
  const { gigabytesPerSecPerCore, grownMb, seconds } = flood;
  process.stdout.write(
    values.json
      ? `${JSON.stringify(flood, null, 2)}\n`
      : `${gigabytesPerSecPerCore.toFixed(2)} GB/s for each core of the main thread, in ${seconds.toFixed(1)} s; memory grew by ${grownMb.toFixed(1)} MB\n`,
  );
}
