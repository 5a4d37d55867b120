import { spawn } from 'node:child_process';
import { spreadOf } from '../src/bench/statistics.ts';

/** One thing to time; resolves when what it measures has happened. */
export type Subject = () => Promise<void>;

export interface Row {
  readonly name: string;
  readonly medianMs: number;
  readonly p95Ms: number;
  /** Median by median of the baseline, from the same run. */
  readonly ratio: number;
}

/** Times all subjects in turn, round after round, so that drift of the machine hits them alike. */
export async function interleaved(
  rounds: number,
  baseline: string,
  subjects: Readonly<Record<string, Subject>>,
): Promise<Row[]> {
  const times = new Map(Object.keys(subjects).map((name) => [name, [] as number[]]));
  for (const subject of Object.values(subjects)) await subject();
  for (let round = 0; round < rounds; round++) {
    for (const [name, subject] of Object.entries(subjects)) {
      const start = performance.now();
      await subject();
      times.get(name)?.push(performance.now() - start);
    }
  }
  const base = spreadOf(times.get(baseline) ?? []).p50;
  return [...times].map(([name, values]) => {
    const { p50, p95 } = spreadOf(values);
    return { name, medianMs: p50, p95Ms: p95, ratio: p50 / base };
  });
}

/** A process started as Node starts one, timed to its end with all its output read. */
export function bareSpawn(program: string, args: readonly string[], untilFirstOutput = false): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: {
        ...Object.fromEntries(
          ['PATH', 'HOME', 'SANDBOX_PYTHON'].flatMap((name) => {
            const value = process.env[name];
            return value === undefined ? [] : [[name, value]];
          }),
        ),
        LANG: 'C.UTF-8',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let complaint = '';
    child.stderr.on('data', (chunk) => {
      complaint += String(chunk);
    });
    child.stdout.on('data', () => {
      if (untilFirstOutput) resolve();
    });
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${program} ended with ${code}: ${complaint}`));
    });
  });
}
