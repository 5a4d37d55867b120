import { expect, it } from 'vitest';
import { shorten } from './shorten.ts';

it('leaves a text that fits as it is', () => {
  expect(shorten('a'.repeat(10), 10)).toBe('a'.repeat(10));
});

it('keeps both ends of a longer one, and counts what is left out', () => {
  const text = `begin${'x\n'.repeat(20)}end`;
  expect(shorten(text, 10)).toBe('begin\n... (38 characters, 19 line breaks left out) ...\nx\nend');
});

it('leaves no half of a character', () => {
  expect(shorten('🙂'.repeat(10), 5)).toBe('🙂\n... (16 characters, 0 line breaks left out) ...\n🙂');
});
