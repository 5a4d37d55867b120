import { describe, expect, it } from 'vitest';
import { readAnswer, startRequest } from './protocol.ts';

const SPEC = { argv: ['/bin/true'], cwd: '/', environment: {}, sources: [] } as const;

describe('what is said to the starter', () => {
  it('is undefined for what it does not take, so that Node starts it', () => {
    expect(startRequest(1, SPEC)).toBeInstanceOf(Buffer);
    expect(startRequest(1, { ...SPEC, argv: ['true'] })).toBeUndefined();
    expect(startRequest(1, { ...SPEC, argv: ['/bin/true', 'a\0b'] })).toBeUndefined();
    expect(startRequest(1, { ...SPEC, argv: ['/bin/true', 'x'.repeat(300_000)] })).toBeUndefined();
    expect(startRequest(1, { ...SPEC, argv: ['/bin/true', ...Array(2048).fill('x')] })).toBeUndefined();
    expect(startRequest(1, { ...SPEC, sources: Array(33).fill('ignore') })).toBeUndefined();
  });

  it('says how a process ended as wait4 does', () => {
    const exited = (status: number) => {
      const bytes = Buffer.alloc(16);
      [3, 0, 77, status].forEach((number, index) => {
        bytes.writeInt32LE(number, 4 * index);
      });
      return readAnswer(bytes);
    };
    expect(exited(3 << 8)).toEqual({ kind: 'exited', pid: 77, code: 3, signal: null });
    expect(exited(9)).toEqual({ kind: 'exited', pid: 77, code: null, signal: 9 });
  });
});
