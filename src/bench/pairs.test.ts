import { describe, expect, it } from 'vitest';
import { compare, timePairs } from './pairs.ts';

describe('pairs', () => {
  it('are run in turn, the other one first each time, when all is ready, after one pair that does not count', async () => {
    const done: string[] = [];
    const { ours, baseline } = await timePairs({
      pairs: 3,
      ready: async () => done.push('ready'),
      ours: async () => done.push('ours'),
      baseline: async () => done.push('baseline'),
      progress: (pair, total) => done.push(`${pair} of ${total}`),
    });
    expect(done).toEqual([
      ...['ready', 'baseline', 'ready', 'ours'],
      ...['ready', 'ours', 'ready', 'baseline', '1 of 3'],
      ...['ready', 'baseline', 'ready', 'ours', '2 of 3'],
      ...['ready', 'ours', 'ready', 'baseline', '3 of 3'],
    ]);
    expect([ours.length, baseline.length]).toEqual([3, 3]);
  });

  it('end with the first failure of either', async () => {
    let runs = 0;
    const measuring = timePairs({
      pairs: 9,
      ours: async () => {
        runs++;
        if (runs === 3) throw new Error('no more');
      },
      baseline: async () => {},
    });
    await expect(measuring).rejects.toThrow('no more');
    expect(runs).toBe(3);
  });

  it('end between two of them when they are cancelled', async () => {
    const controller = new AbortController();
    const done: string[] = [];
    const measuring = timePairs({
      pairs: 9,
      ours: async () => {
        done.push('ours');
        controller.abort(new Error('cancelled'));
      },
      baseline: async () => done.push('baseline'),
      signal: controller.signal,
    });
    await expect(measuring).rejects.toThrow('cancelled');
    expect(done).toEqual(['baseline', 'ours']);
  });
});

describe('a comparison', () => {
  it('is made median by median, so that one bad pair changes little', () => {
    expect(compare({ ours: [1, 2, 900], baseline: [10, 20, 30] }).ratio).toBe(2 / 20);
  });
});
