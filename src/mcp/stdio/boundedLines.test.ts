import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { boundedLines } from './boundedLines.ts';

/** What comes through, and how many lines were dropped. */
async function through(limit: number, ...chunks: readonly string[]) {
  let dropped = 0;
  const lines = boundedLines(limit, () => dropped++);
  const passed = await text(Readable.from(chunks.map((chunk) => Buffer.from(chunk))).pipe(lines));
  return { passed, dropped };
}

it('passes lines on, however they are cut', async () => {
  expect(await through(10, 'on', 'e\ntwo\n\nth', 'ree\n')).toEqual({
    passed: 'one\ntwo\n\nthree\n',
    dropped: 0,
  });
});

it('drops a line that is too long and nothing else, also where it comes in pieces', async () => {
  expect(await through(4, 'abc\nabcd\nabc\n')).toEqual({ passed: 'abc\nabc\n', dropped: 1 });
  expect(await through(4, 'ab', 'cd', 'ef', 'g\nabc\n', 'x'.repeat(99), '\n', 'abc\n')).toEqual({
    passed: 'abc\nabc\n',
    dropped: 2,
  });
});

it('holds back what is no whole line', async () => {
  expect(await through(10, 'one\ntwo')).toEqual({ passed: 'one\n', dropped: 0 });
});
