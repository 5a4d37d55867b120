import { describe, expect, it } from 'vitest';
import { spreadOf } from './statistics.ts';

describe('the spread of figures', () => {
  it('is told whatever their order, and leaves the list alone', () => {
    const values = [5, 1, 4, 2, 3];
    expect(spreadOf(values)).toEqual({ n: 5, p50: 3, p95: 4.8, min: 1 });
    expect(values).toEqual([5, 1, 4, 2, 3]);
  });

  it('lies between two neighbours where there is none in the middle', () => {
    expect(spreadOf([10, 20])).toEqual({ n: 2, p50: 15, p95: 19.5, min: 10 });
  });

  it('orders by size and not by digits', () => {
    expect(spreadOf([10, 9, 100]).p50).toBe(10);
  });

  it('of one figure is that figure', () => {
    expect(spreadOf([7])).toEqual({ n: 1, p50: 7, p95: 7, min: 7 });
  });

  it('of none is refused', () => {
    expect(() => spreadOf([])).toThrow(RangeError);
  });
});
