import { describe, expect, it } from 'vitest';
import { isAtLeastVersion } from './tools.ts';

describe('versions', () => {
  it.each([
    ['0.8.0', true],
    ['0.8', true],
    ['0.11.1', true],
    ['1.0', true],
    ['0.6.1', false],
    ['0.7.99', false],
    ['unknown', false],
  ])('%s is at least 0.8.0: %s', (version, expected) => {
    expect(isAtLeastVersion(version, '0.8.0')).toBe(expected);
  });
});
