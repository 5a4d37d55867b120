import { describe, expect, it } from 'vitest';
import { Admission } from './admission.ts';

const never = new AbortController().signal;

/** Who is let in, in the order in which it happens. */
function watched(admission: Admission) {
  const begun: string[] = [];
  const enter = (key: string, signal = never) => {
    const place = admission.enter(key, signal);
    place.ready.then(
      () => begun.push(key),
      () => begun.push(`${key} gave up`),
    );
    return place;
  };
  return { begun, enter };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('who may run', () => {
  it('runs as many as may run, and the next when one leaves', async () => {
    const admission = new Admission({ running: 2, queue: 4 });
    const { begun, enter } = watched(admission);
    const first = enter('a');
    enter('a');
    enter('a');
    await settle();
    expect([begun, admission.running, admission.waiting]).toEqual([['a', 'a'], 2, 1]);
    first.leave();
    first.leave();
    await settle();
    expect([begun, admission.running, admission.waiting]).toEqual([['a', 'a', 'a'], 2, 0]);
  });

  it('lets whoever has fewest running go first, and else whoever came first', async () => {
    const admission = new Admission({ running: 2, queue: 8 });
    const { begun, enter } = watched(admission);
    const places = [enter('greedy'), enter('greedy')];
    enter('greedy');
    enter('modest');
    enter('other');
    await settle();
    places[0]?.leave();
    await settle();
    expect(begun).toEqual(['greedy', 'greedy', 'modest']);
    places[1]?.leave();
    await settle();
    expect(begun).toEqual(['greedy', 'greedy', 'modest', 'greedy']);
  });

  it('keeps half of the queue for others, and says when it is full', () => {
    const admission = new Admission({ running: 1, queue: 4 });
    const { enter } = watched(admission);
    for (const key of ['a', 'a', 'a']) enter(key);
    expect(() => enter('a')).toThrow('This key has 2 executions in the queue; the other half is for others.');
    enter('b');
    enter('c');
    expect(() => enter('d')).toThrow('The server is full: 1 executions run and 4 wait.');
    expect(admission.waiting).toBe(4);
  });

  it('takes no place for whoever has given up', async () => {
    const admission = new Admission({ running: 1, queue: 2 });
    const { begun, enter } = watched(admission);
    const first = enter('a');
    const impatient = new AbortController();
    const second = enter('b', impatient.signal);
    enter('c');
    impatient.abort();
    await settle();
    second.leave();
    first.leave();
    await settle();
    expect([begun, admission.running, admission.waiting]).toEqual([['a', 'b gave up', 'c'], 1, 0]);
  });
});
