import { describe, expect, it } from 'vitest';
import { Turns } from './turns.ts';

const instead = () => 'instead';

describe('turns', () => {
  it('come one after another, in the order of the calls, whatever became of those before', async () => {
    const turns = new Turns();
    const seen: string[] = [];
    const take = (name: string, fails = false) =>
      turns.take(
        async () => {
          seen.push(`${name} begins`);
          await new Promise(setImmediate);
          seen.push(`${name} ends`);
          if (fails) throw new Error(name);
          return name;
        },
        undefined,
        instead,
      );
    const results = await Promise.allSettled([take('a'), take('b', true), take('c')]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  });

  it('are given up at once by whoever is cancelled while he waits, and never taken', async () => {
    const turns = new Turns();
    let release = (): void => {};
    const first = turns.take(
      () => new Promise<string>((done) => (release = () => done('first'))),
      undefined,
      instead,
    );
    const cancel = new AbortController();
    let ran = false;
    const second = turns.take(
      async () => {
        ran = true;
        return 'second';
      },
      cancel.signal,
      instead,
    );
    const third = turns.take(async () => 'third', undefined, instead);
    await new Promise(setImmediate);
    cancel.abort();
    expect(await second).toBe('instead');
    release();
    expect(await Promise.all([first, third])).toEqual(['first', 'third']);
    expect(ran).toBe(false);
  });

  it('are not given up by whoever has begun', async () => {
    const turns = new Turns();
    const cancel = new AbortController();
    const result = await turns.take(
      async () => {
        cancel.abort();
        return 'its own answer';
      },
      cancel.signal,
      instead,
    );
    expect(result).toBe('its own answer');
  });
});
