import { describe, expect, it } from 'vitest';
import { findTree } from './processTree.ts';
import { type ProcessStat, parseStat } from './procfs.ts';

function process(pid: number, parent: number, session = 1, startTime = '100'): ProcessStat {
  return { pid, parent, session, startTime, state: 'S' };
}

const EVERYBODY = [
  process(1, 0, 0, '0'),
  process(2, 0, 0, '0'),
  process(10, 1, 10),
  process(11, 10, 10),
  process(12, 1, 10),
  process(13, 1, 13),
  process(14, 13, 13),
  process(20, 1, 20, '50'),
];

const environments: Record<number, string> = { 13: 'A=1\0HOME=/box\0', 20: 'HOME=/box\0' };
const find = (marks: Parameters<typeof findTree>[1]): number[] =>
  findTree(EVERYBODY, marks, (pid) => environments[pid] ?? '').map(({ pid }) => pid);

describe('the tree of a plain process', () => {
  it('is its session, its descendants, and whoever carries its environment with theirs', () => {
    expect(find({ pid: 10, variables: ['HOME=/box'] })).toEqual([10, 11, 12, 13, 14, 20]);
  });

  it('holds nothing older than its main program', () => {
    expect(find({ pid: 10, since: '100', variables: ['HOME=/box'] })).toEqual([10, 11, 12, 13, 14]);
  });

  it('is never the whole machine: without a main program only the environment counts', () => {
    expect(find({ variables: ['HOME=/box'] })).toEqual([13, 14, 20]);
    expect(find({ pid: 0, variables: ['HOME=/other'] })).toEqual([]);
  });
});

describe('the figures of a process', () => {
  it('are read past a name that looks like figures', () => {
    const text = `42 (a) S 1 (x) S 7 42 42 0 -1 ${'0 '.repeat(13)}987654 0`;
    expect(parseStat(text)).toMatchObject({ pid: 42, state: 'S', parent: 7, session: 42 });
  });
});
