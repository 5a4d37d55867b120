import progress from 'cli-progress';
import type { BenchProgress } from '../../bench/runBench.ts';

export interface ProgressLine {
  show(progress: BenchProgress): void;
  end(): void;
}

/** How far the measuring is, on standard error where that is a terminal; nothing is left of it at the end. */
export function progressLine(rows: number): ProgressLine {
  const bar = new progress.SingleBar({
    format: '{place} [{bar}] {value}/{total} {name}',
    ...{ barsize: 20, fps: 4, hideCursor: true, clearOnComplete: true },
  });
  let started = false;
  return {
    show({ name, index, done, total }) {
      if (!process.stderr.isTTY) return;
      const payload = { name, place: `${index + 1} of ${rows}` };
      if (!started) bar.start(total, done, payload);
      started = true;
      bar.setTotal(total);
      bar.update(done, payload);
    },
    end() {
      if (started) bar.stop();
    },
  };
}
