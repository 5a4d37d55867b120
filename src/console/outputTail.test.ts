import { expect, it } from 'vitest';
import type { OutputPiece } from './backend.ts';
import { outputTail } from './outputTail.ts';

async function* pieces(
  ...given: readonly [stream: 'stdout' | 'stderr', text: string][]
): AsyncGenerator<OutputPiece> {
  for (const [i, [stream, text]] of given.entries()) yield { type: 'output', stream, text, next: i + 1 };
}

it('joins what came on one stream, in the order in which it came, as visible text', async () => {
  expect(
    await outputTail(pieces(['stdout', 'a'], ['stdout', '\x1b[2J\n'], ['stderr', '</pre>'], ['stdout', 'b'])),
  ).toEqual({
    runs: [
      { stream: 'stdout', text: 'a⟦U+001B⟧[2J\n' },
      { stream: 'stderr', text: '</pre>' },
      { stream: 'stdout', text: 'b' },
    ],
    ...{ next: 4, leftOutCharacters: 0, droppedBytes: 0 },
  });
});

it('keeps the end of much output, and says how much it leaves out', async () => {
  const { runs, leftOutCharacters } = await outputTail(
    pieces(['stderr', 'gone'], ['stdout', `${'x'.repeat(10)}😀`], ['stdout', 'y'.repeat(199_999)]),
  );
  // Half of a character would have to be left.
  expect(leftOutCharacters).toBe(4 + 10 + 2);
  expect(runs).toEqual([{ stream: 'stdout', text: 'y'.repeat(199_999) }]);
});

it('counts what is not kept any more', async () => {
  async function* gap(): AsyncGenerator<OutputPiece> {
    yield { type: 'gap', stream: 'stdout', droppedBytes: 7, next: 7 };
    yield { type: 'output', stream: 'stdout', text: 'z', next: 8 };
  }
  expect(await outputTail(gap())).toEqual({
    runs: [{ stream: 'stdout', text: 'z' }],
    ...{ next: 8, leftOutCharacters: 0, droppedBytes: 7 },
  });
});
