import { expect, it } from 'vitest';
import type { Context } from '../operations/context.ts';
import { type ForeignResult, foreignTool } from './foreignTool.ts';

/** Nobody is asked, and nothing is recorded. */
const unwatched = { oversight: undefined } as Context;

const answerTo = (run: () => Promise<ForeignResult>) =>
  foreignTool(unwatched, {
    ...{ name: 'lookup', description: 'Looks up.', parameters: { type: 'object' }, from: 'a test' },
    run,
  }).call({});

it('bounds an error as it does an answer', async () => {
  const failed = await answerTo(() => Promise.reject(new Error('x'.repeat(1_000_000))));
  expect(failed.text.length).toBeLessThan(17_000);
});

it('takes no values that are nested deeper than anybody could walk through', async () => {
  const nested = (depth: number) => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
  expect((await answerTo(async () => ({ text: 'ok', structured: nested(60) }))).structured).toEqual(
    nested(60),
  );
  const deep = await answerTo(async () => ({ text: 'ok', structured: nested(20_000) }));
  expect(deep).toMatchObject({ text: 'ok', structured: { output: '(nested too deeply)' }, isError: false });
});
