import { expect, it } from 'vitest';
import { ask } from './ask.ts';

it('gives what a program says, on whichever stream', async () => {
  expect(await ask('/bin/sh', ['-c', 'echo out; echo err >&2'])).toBe('out\nerr\n');
});

it.each([
  ['fails', 'echo broken >&2; exit 3', '/bin/sh does not run: it ended with 3: broken.'],
  ['fails without a word', 'exit 1', '/bin/sh does not run: it ended with 1.'],
  ['is killed', 'kill -9 $$', '/bin/sh does not run: it was ended by SIGKILL.'],
])('says in a sentence that one %s', async (_, script, sentence) => {
  await expect(ask('/bin/sh', ['-c', script])).rejects.toThrow(new Error(sentence));
});

it('does not wait for one that never answers, whatever it ignores', async () => {
  await expect(ask('/bin/sh', ['-c', 'trap "" TERM; while :; do :; done'], 200)).rejects.toThrow(
    new Error('/bin/sh does not run: it has not answered within 0.2 s.'),
  );
});

it('says that there is none', async () => {
  await expect(ask('/no/such/program', [])).rejects.toThrow(
    /^\/no\/such\/program does not run: .*ENOENT.*\.$/,
  );
});
