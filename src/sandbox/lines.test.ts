import { describe, expect, it } from 'vitest';
import { LineCutter, lineMatcher, MAX_LINE_CHARACTERS } from './lines.ts';

describe('lines', () => {
  it('are cut wherever the text was split', () => {
    const text = 'one\r\ntwo\n\nthree\rand a half\nfour';
    for (let at = 0; at <= text.length; at++) {
      const cutter = new LineCutter();
      const lines = [...cutter.push(text.slice(0, at)), ...cutter.push(text.slice(at))];
      expect([...lines, cutter.finish()]).toEqual(['one', 'two', '', 'three\rand a half', 'four']);
    }
  });

  it('are kept to a length, however long they go on', () => {
    const cutter = new LineCutter();
    for (let n = 0; n < 1000; n++) expect(cutter.push('x'.repeat(1000))).toEqual([]);
    expect(cutter.push('\nnext')).toEqual(['x'.repeat(MAX_LINE_CHARACTERS)]);
    expect(cutter.finish()).toBe('next');
    expect(cutter.finish()).toBeUndefined();
  });

  it('are matched each by itself, also by a pattern that remembers', () => {
    const matches = lineMatcher(/a$/gy);
    expect(['a', 'a', 'ba', 'ab'].map(matches)).toEqual([true, true, true, false]);
    expect(['listening on 80', 'Listening'].map(lineMatcher('listening'))).toEqual([true, false]);
  });
});
