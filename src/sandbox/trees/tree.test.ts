import { describe, expect, it } from 'vitest';
import { differenceOf, differingPaths, type Tree, type TreeEntry, topmost } from './tree.ts';

function entry(path: string, more: Partial<TreeEntry> = {}): TreeEntry {
  return {
    ...{ name: Buffer.from(path), path, type: 'file', executable: false, size: 1, sha256: 'aa' },
    ...more,
  };
}

function tree(entries: readonly TreeEntry[], leftOut: Tree['leftOut'] = []): Tree {
  return { entries: new Map(entries.map((one) => [one.path, one])), leftOut };
}

const link = (path: string, target: string): TreeEntry =>
  entry(path, { type: 'symlink', size: 0, target: Buffer.from(target) });

describe('two trees', () => {
  it.each<[string, TreeEntry]>([
    ['another content', entry('x', { sha256: 'bb' })],
    ['another size', entry('x', { size: 2 })],
    ['a program', entry('x', { executable: true })],
    ['a folder', entry('x', { type: 'directory' })],
    ['a link', link('x', 'y')],
  ])('differ by %s', (_, other) => {
    const [before, after] = [tree([entry('x')]), tree([other])];
    expect(differenceOf(before, after)).toMatchObject({
      added: [],
      removed: [],
      changed: [{ after: other }],
    });
    expect(differingPaths(before, after)).toEqual(['x']);
    expect(differingPaths(after, before)).toEqual(['x']);
  });

  it('differ by where a link leads, by what is more and what is less, and by what cannot be carried', () => {
    expect(differingPaths(tree([link('l', 'a')]), tree([link('l', 'b')]))).toEqual(['l']);
    expect(differingPaths(tree([entry('a')]), tree([entry('b')]))).toEqual(['a', 'b']);
    const leftOut = [{ path: 'fifo', because: 'a FIFO' }];
    expect(differingPaths(tree([], leftOut), tree([]))).toEqual(['fifo']);
    expect(differingPaths(tree([]), tree([], leftOut))).toEqual(['fifo']);
  });

  it('are the same whatever was kept of them and in whatever order they came', () => {
    const kept = { kept: { offset: 1, size: 1 } };
    const one = tree([entry('a', kept), link('l', 'a'), entry('d', { type: 'directory' })]);
    const other = tree([entry('d', { type: 'directory', executable: true }), link('l', 'a'), entry('a')]);
    expect(differingPaths(one, other)).toEqual([]);
    expect(differenceOf(one, other)).toEqual({ added: [], changed: [], removed: [] });
  });
});

it('of paths the topmost ones take the others along', () => {
  expect(topmost(['a/b', 'a', 'a/b/c', 'ab', 'b/c', 'b/cd'])).toEqual(['a', 'ab', 'b/c', 'b/cd']);
});
