import { describe, expect, it } from 'vitest';
import { assertTold, checkLimits, costUsd, reachedLimit } from './limits.ts';

const spent = { inputTokens: 1_000_000, outputTokens: 100_000 };

describe('limits of an agent', () => {
  it('cost what the prices say, and nothing is known without them', () => {
    expect(costUsd(spent, { input: 3, output: 15 })).toBe(4.5);
    expect(costUsd(spent, undefined)).toBeUndefined();
  });

  it('are reached at their value, steps at 20 where nobody says otherwise', () => {
    const nothing = { inputTokens: 0, outputTokens: 0 };
    expect(reachedLimit(19, spent, {})).toBeUndefined();
    expect(reachedLimit(20, nothing, {})?.limit).toBe('steps');
    expect(reachedLimit(1, spent, { maxTokens: 1_100_001 })).toBeUndefined();
    expect(reachedLimit(1, spent, { maxTokens: 1_100_000 })?.limit).toBe('tokens');
    const prices = { input: 3, output: 15 };
    expect(reachedLimit(1, spent, { maxCostUsd: 4.51, prices })).toBeUndefined();
    expect(reachedLimit(1, spent, { maxCostUsd: 4.5, prices })?.limit).toBe('cost');
  });

  it('are refused where they cannot be held', () => {
    const unusable = [
      { maxSteps: 0 },
      { maxSteps: 1.5 },
      { maxTokens: -1 },
      { maxTokens: Number.NaN },
      { maxCostUsd: 1 },
      { maxCostUsd: 0, prices: { input: 1, output: 1 } },
      { prices: { input: -1, output: 1 } },
    ];
    for (const limits of unusable)
      expect(() => checkLimits(limits)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
    expect(() =>
      checkLimits({ maxSteps: 1, maxTokens: 1, maxCostUsd: 0.01, prices: { input: 0, output: 1 } }),
    ).not.toThrow();
  });

  it('need to know what was spent', () => {
    expect(assertTold(spent, { maxTokens: 1 })).toBe(spent);
    expect(assertTold(undefined, {})).toEqual({ inputTokens: 0, outputTokens: 0 });
    expect(() => assertTold(undefined, { maxTokens: 1 })).toThrow(/does not say how many tokens/);
    expect(() => assertTold(undefined, { maxCostUsd: 1 })).toThrow(/does not say how many tokens/);
  });
});
