import { expect, it } from 'vitest';
import { leftOutBy } from './transfer.ts';

it('names what tar did not take, and of what it says otherwise that nobody knows what it is about', () => {
  expect(
    leftOutBy('tar: ./a/b: socket ignored\ntar: ./x y: Warning: Cannot open: Permission denied\n'),
  ).toEqual([
    { path: 'a/b', because: 'a socket' },
    { path: 'x y', because: 'it cannot be read' },
  ]);
  for (const said of [
    'tar: ./a: file changed as we read it',
    // A name that is escaped, and one that was cut off.
    'tar: ./\\303\\251: socket ignored',
    'tar: ./a: sock',
    'tar: ./a: Warning: Warning: Cannot open: Permission denied',
  ]) {
    expect(leftOutBy(said)).toEqual([{ path: '.', because: `not read: ${said}` }]);
  }
  expect(leftOutBy('')).toEqual([{ path: '.', because: 'not read: no reason given' }]);
});
