import { expect, it } from 'vitest';
import { wrap } from './wrap.ts';

const SENTENCE = 'A sentence that is told again. '.repeat(8).trimEnd();

it('leaves a short line alone', () => {
  expect(wrap('short  text', '  ')).toEqual(['  short  text']);
});

it('cuts at spaces into at most 100 columns and loses nothing', () => {
  const lines = wrap(SENTENCE, 'name: ', '  ');
  expect(lines.length).toBeGreaterThan(2);
  expect(lines.every((line) => line.length <= 100)).toBe(true);
  expect(lines[0]).toMatch(/^name: A sentence/);
  expect(lines.slice(1).every((line) => /^ {2}\S/.test(line))).toBe(true);
  expect(lines.map((line) => line.replace(/^(name: | {2})/, '')).join(' ')).toBe(SENTENCE);
});

it('uses the last column', () => {
  expect(wrap(`${'a'.repeat(50)} ${'b'.repeat(49)}`)).toHaveLength(1);
  expect(wrap(`${'a'.repeat(50)} ${'b'.repeat(50)}`)).toHaveLength(2);
});

it('keeps a word that is longer than a line whole', () => {
  const path = `/${'a'.repeat(120)}`;
  expect(wrap(`See ${path} there.`, '  ')).toEqual(['  See', `  ${path}`, '  there.']);
});
