import { expect, it } from 'vitest';
import { takeStdout } from './takeStdout.ts';

it('makes nobody wait for a client that reads nothing, until much is waiting', () => {
  const frames = takeStdout({ write: () => false }, { write: () => true });
  const message = 'x'.repeat(1024 * 1024);
  expect(Array.from({ length: 60 }, () => frames.write(message))).not.toContain(false);
  expect(Array.from({ length: 4 }, () => frames.write(message)).at(-1)).toBe(false);
});
