import { describe, expect, it } from 'vitest';
import { isAtLeast, strictestIsolation } from './isolation.ts';

describe('isolation levels', () => {
  it('are ordered from a process to a machine of its own', () => {
    expect(isAtLeast('namespace', 'process')).toBe(true);
    expect(isAtLeast('namespace', 'namespace')).toBe(true);
    expect(isAtLeast('namespace', 'container')).toBe(false);
    expect(isAtLeast('machine', 'kernel')).toBe(true);
  });

  it('combine to the strictest, whatever the order', () => {
    expect(strictestIsolation('process', 'kernel')).toBe('kernel');
    expect(strictestIsolation('kernel', 'process')).toBe('kernel');
    expect(strictestIsolation(undefined, 'namespace')).toBe('namespace');
    expect(strictestIsolation(undefined, undefined)).toBeUndefined();
  });
});
