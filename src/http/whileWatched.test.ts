import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { whileWatched } from './whileWatched.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('looks once for all who watch, tells of what changes, and stops with the last of them', async () => {
  let waiting: readonly string[] = ['a'];
  let [looks, changes] = [0, 0];
  const watch = whileWatched(
    async () => {
      looks++;
      return waiting;
    },
    { everyMs: 500, onChange: () => changes++ },
  );
  const leave = Array.from({ length: 10 }, watch);
  await vi.advanceTimersByTimeAsync(1000);
  expect([looks, changes]).toEqual([3, 0]);
  waiting = ['a', 'b'];
  await vi.advanceTimersByTimeAsync(1000);
  expect([looks, changes]).toEqual([5, 1]);
  for (const one of leave) one();
  await vi.advanceTimersByTimeAsync(5000);
  expect(looks).toBe(5);
  // What has changed while nobody watched is seen by who comes, who reads all anyway.
  waiting = [];
  const last = watch();
  await vi.advanceTimersByTimeAsync(500);
  expect([looks, changes]).toEqual([7, 1]);
  last();
});

it('goes on after a look that failed', async () => {
  const looks = [Promise.resolve(['a']), Promise.reject(new Error('not now')), Promise.resolve(['b'])];
  for (const one of looks) one.catch(() => {});
  let changes = 0;
  const stop = whileWatched(() => looks.shift() ?? Promise.resolve(['b']), {
    everyMs: 500,
    onChange: () => changes++,
  })();
  await vi.advanceTimersByTimeAsync(1500);
  expect(changes).toBe(1);
  stop();
});
