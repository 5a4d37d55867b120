import { expect, it } from 'vitest';
import { asSentence } from './sentence.ts';

it.each([
  ['unshare failed: Operation not permitted', 'unshare failed: Operation not permitted.'],
  ['Command failed: runsc flags\nbroken\n', 'Command failed: runsc flags broken.'],
  ['It is a sentence.', 'It is a sentence.'],
  ['Is it one?  ', 'Is it one?'],
])('%j is said as %j', (text, sentence) => {
  expect(asSentence(text)).toBe(sentence);
});
