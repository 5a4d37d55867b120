import { describe, expect, it } from 'vitest';
import { wasOutOfMemory } from './figures.ts';

describe('out of memory', () => {
  it.each([
    [137, { oomKills: 1 }, false, true],
    [137, { oomKills: 1 }, true, true],
    [137, { oomKills: 0 }, false, false],
    [137, {}, false, false],
    [1, { oomKills: 1 }, false, false],
    [1, { oomKills: 1 }, true, true],
    [1, {}, true, false],
    [0, { oomKills: 1 }, true, false],
    [5, { oomKills: 1 }, true, false],
  ])('with the code %d, %j, a kernel of its own: %j', (code, figures, ownKernel, expected) => {
    expect(wasOutOfMemory(code, figures, ownKernel)).toBe(expected);
  });
});
