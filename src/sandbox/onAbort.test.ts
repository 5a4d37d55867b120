import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { onAbort } from './onAbort.ts';

it('calls each of many once, without a warning', async () => {
  const warnings: unknown[] = [];
  const note = (warning: unknown): void => void warnings.push(warning);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const controller = new AbortController();
  const called: number[] = [];
  const takeBack = Array.from({ length: 20 }, (_, i) => onAbort(controller.signal, () => called.push(i)));
  takeBack[3]?.();
  controller.abort();
  controller.abort();
  await nextTurn();
  expect(called).toEqual(Array.from({ length: 20 }, (_, i) => i).filter((i) => i !== 3));
  expect(warnings).toEqual([]);
});

it('calls it at once for a signal that has aborted, and never without one', () => {
  let calls = 0;
  onAbort(AbortSignal.abort(), () => calls++);
  expect(calls).toBe(1);
  onAbort(undefined, () => calls++)();
  expect(calls).toBe(1);
});

it('hands nothing to it, although a listener would be given an event', () => {
  const given: unknown[][] = [];
  const controller = new AbortController();
  onAbort(controller.signal, (...all: unknown[]) => void given.push(all));
  controller.abort();
  expect(given).toEqual([[]]);
});
