import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Life, type LifeSpan } from './life.ts';

let over: string[];
let life: Life;
const begin = (span: LifeSpan): void => {
  over = [];
  life = new Life(span, (reason) => over.push(reason));
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  life.stop();
  vi.useRealTimers();
});

describe('the life of a sandbox', () => {
  it('is over at its time, whatever runs', () => {
    begin({ lifetimeSec: 10, idleSec: 3 });
    life.begin();
    expect(life.expiresAt?.getTime()).toBe(life.createdAt.getTime() + 10_000);
    vi.advanceTimersByTime(9999);
    expect(over).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(over).toEqual(['expired']);
  });

  it('is over when nothing has happened for long enough, and not while anything goes on', () => {
    begin({ idleSec: 3 });
    vi.advanceTimersByTime(2000);
    const [first, second] = [life.begin(), life.begin()];
    vi.advanceTimersByTime(100_000);
    first();
    first();
    vi.advanceTimersByTime(100_000);
    expect(over).toEqual([]);
    second();
    expect(life.lastUsedAt.getTime()).toBe(Date.now());
    vi.advanceTimersByTime(2999);
    expect(over).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(over).toEqual(['idle']);
  });

  it('has no end where none was given, and none after it was stopped', () => {
    begin({});
    vi.advanceTimersByTime(1e9);
    expect(over).toEqual([]);
    begin({ lifetimeSec: 1, idleSec: 1 });
    const done = life.begin();
    life.stop();
    done();
    expect(vi.getTimerCount()).toBe(0);
  });
});
