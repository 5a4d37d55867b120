import { describe, expect, it } from 'vitest';
import { notHeld } from './trial.ts';

const HELD = {
  kernel: '4.4.0',
  Uid: '1000\t1000\t1000\t1000',
  Seccomp: '2',
  CapEff: '0000000000000000',
  CapBnd: '0000000000000000',
};

describe('a trial in a given root', () => {
  const judge = (change: Partial<typeof HELD>) =>
    notHeld(new Map(Object.entries({ ...HELD, ...change })), '6.1.0');

  it('goes well when a program is held', () => {
    expect(judge({})).toBeUndefined();
  });

  it.each<[Partial<typeof HELD>, string]>([
    [{ kernel: '6.1.0' }, 'kernel'],
    [{ Uid: '1000\t0\t1000\t1000' }, 'Uid'],
    [{ Seccomp: '0' }, 'Seccomp'],
    [{ CapEff: '0000000000000020' }, 'CapEff'],
    [{ CapBnd: '00000000000000e0' }, 'CapBnd'],
  ])('finds out about %j', (change, what) => {
    expect(judge(change)).toContain(what);
  });

  it('takes what is not told for not held', () => {
    expect(notHeld(new Map([['kernel', '4.4.0']]), '6.1.0')).toContain('Uid');
  });
});
