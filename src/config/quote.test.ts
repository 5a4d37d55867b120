import { describe, expect, it } from 'vitest';
import { printable, quote } from './quote.ts';

describe('quote', () => {
  it('writes JSON', () => {
    expect(quote('a "b"\n')).toBe('"a \\"b\\"\\n"');
    expect(quote({ a: [1, true, null] })).toBe('{"a":[1,true,null]}');
  });

  it('keeps numbers that JSON would turn into null', () => {
    expect([Number.NaN, Number.POSITIVE_INFINITY, -0.5].map(quote)).toEqual(['NaN', 'Infinity', '-0.5']);
  });

  it('cuts at 200 characters', () => {
    const text = quote('x'.repeat(5000));
    expect(text).toHaveLength(200);
    expect(text.endsWith('…')).toBe(true);
  });

  it('shows nothing that a terminal or a reader would be fooled by', () => {
    expect(quote('\u001b[2J\u009b2J\u202etxt\u2028')).toBe('"\\u001b[2J\\u009b2J\\u202etxt\\u2028"');
    expect(printable('/tmp/\u001b[2J')).toBe('/tmp/\\u001b[2J');
  });

  it('survives values that JSON refuses', () => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    expect([cyclic, 10n, undefined, () => 1].map((value) => typeof quote(value))).toEqual(
      Array(4).fill('string'),
    );
  });
});
