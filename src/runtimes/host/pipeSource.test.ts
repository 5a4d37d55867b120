import { writeSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { takeOutputPipes } from './pipes.ts';

async function openPipe() {
  const pipes = await takeOutputPipes();
  onTestFinished(() => pipes.destroy());
  return { source: pipes.stdout, write: (text: string) => writeSync(pipes.child.stdout, text), pipes };
}

async function rest(source: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of source) text += Buffer.from(chunk).toString();
  return text;
}

it('ends behind what is in the pipe, whoever holds its other end', async () => {
  const { source, write } = await openPipe();
  write('x'.repeat(60_000));
  source.finish();
  expect(await rest(source)).toBe('x'.repeat(60_000));
});

it('ends while somebody waits for more, and after what was read before', async () => {
  const { source, write } = await openPipe();
  const whole = rest(source);
  write('first ');
  await new Promise(setImmediate);
  write('second');
  source.finish();
  expect(await whole).toBe('first second');
});

it('gives one chunk to whoever takes it, and the others to whoever reads on', async () => {
  const { source, write, pipes } = await openPipe();
  write('first');
  expect(Buffer.from((await source.take()) ?? []).toString()).toBe('first');
  write('second');
  pipes.closeChildEnds();
  expect(await rest(source)).toBe('second');
  expect(await source.take()).toBeUndefined();
});

it('has nothing more for whoever takes when it was given up', async () => {
  const { source } = await openPipe();
  const taken = source.take();
  source.destroy();
  expect(await taken).toBeUndefined();
});
