import { expect, it } from 'vitest';
import { turns } from './turns.ts';

it('does so many at a time, the others in order, and goes on after one that failed', async () => {
  const inTurn = turns(2);
  const began: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const all = [0, 1, 2, 3].map((n) =>
    inTurn(() => {
      began.push(n);
      return new Promise<void>((resolve, reject) => {
        ends.push((error) => (error === undefined ? resolve() : reject(error)));
      });
    }),
  );
  const failure = expect(all[0]).rejects.toThrow('failed');
  expect(began).toEqual([0, 1]);
  ends[0]?.(new Error('failed'));
  await failure;
  await expect.poll(() => began).toEqual([0, 1, 2]);
  ends[1]?.();
  await all[1];
  await expect.poll(() => began).toEqual([0, 1, 2, 3]);
  for (const end of ends) end();
  await Promise.all(all.slice(1));
  expect(await inTurn(async () => 'free again')).toBe('free again');
});
