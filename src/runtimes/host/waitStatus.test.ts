import { describe, expect, it } from 'vitest';
import { codeOf } from './waitStatus.ts';

describe('a status of wait(2)', () => {
  it.each([
    [0x0000, 0],
    [0x0700, 7],
    [0xff00, 255],
    [9, 137],
    [0x80 | 11, 139],
  ])('%i means %i', (status, code) => {
    expect(codeOf(status)).toBe(code);
  });
});
