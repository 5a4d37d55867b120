import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { visible, visibleLine } from './visible.ts';

/** Nothing but these ever reaches a terminal, told by other means than the source under test. */
const SAFE = /^[\n\x20-\x7e\p{L}\p{N}\p{P}\p{S}\p{M}]*$/u;
const UNSAFE =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\p{Bidi_Control}]/u;

/** Much of what matters, densely. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...[
          '\x1b',
          '\r',
          '\n',
          '\t',
          ' ',
          '  ',
          '\u202e',
          '\u200b',
          '\u0301',
          '\u0323',
          '\u0338',
          'e',
          'é',
          '語',
        ],
        ...[
          '⟦',
          '⟧',
          'U+202E',
          '0xFF',
          '⇥',
          '␠',
          '⇥   ',
          '\ud800',
          '\udc80',
          '\udcff',
          '\u{e0041}',
          'א',
          '\u2028',
        ],
        ...['\\x1b', '\\u202e', 'क', '्', '\u037e', ';', '\u1100', '\u1161', '가', '┃', '━'],
      ),
      fc.string({ unit: 'binary', maxLength: 3 }),
    ),
  )
  .map((parts) => parts.join(''));

/** What quadratic time would be far beyond, however busy the machine is. */
const LONGEST_MS = 15_000;

const escapes = (codes: readonly string[]) => codes.map((code) => `⟦U+${code}⟧`);
const shown = (...points: number[]) => points.map((point) => visible(`a${String.fromCodePoint(point)}b`));
const expected = (...codes: string[]) => escapes(codes).map((code) => `a${code}b`);

describe('visible text', () => {
  it('is the text itself where all of it is plainly visible', () => {
    const text = 'def f(x):\n    return "naïve: Größe, Привет, 語, 한국어, हिन्दी, 🙂" # \\x1b[2J \\u202e\n';
    expect(visible(text)).toBe(text);
    expect(visible(Buffer.from(text))).toBe(text);
  });

  it('shows what a terminal would obey as escapes', () => {
    expect(visible('\x1b[2J\x07\x9b2J\x7f\x00\r\b\x85')).toBe(
      '⟦U+001B⟧[2J⟦U+0007⟧⟦U+009B⟧2J⟦U+007F⟧⟦U+0000⟧⟦U+000D⟧⟦U+0008⟧⟦U+0085⟧',
    );
  });

  it('shows what turns, joins or hides text as escapes', () => {
    expect(shown(0x202e, 0x2066, 0x200f, 0x61c, 0x200b, 0x200d, 0xfeff, 0xad, 0x2060)).toEqual(
      expected('202E', '2066', '200F', '061C', '200B', '200D', 'FEFF', '00AD', '2060'),
    );
    expect(shown(0xe0041, 0xfe0f, 0xe0100, 0x180b, 0x34f)).toEqual(
      expected('E0041', 'FE0F', 'E0100', '180B', '034F'),
    );
    expect(shown(0x2028, 0x2029, 0xe000, 0x378, 0xffff, 0xd800)).toEqual(
      expected('2028', '2029', 'E000', '0378', 'FFFF', 'D800'),
    );
  });

  it('shows spaces that are none, and letters that are blank, as escapes', () => {
    expect(shown(0xa0, 0x2003, 0x3000, 0x1680, 0x202f)).toEqual(
      expected('00A0', '2003', '3000', '1680', '202F'),
    );
    expect(shown(0x3164, 0x115f, 0x1160, 0xffa0, 0x2800, 0x13441)).toEqual(
      expected('3164', '115F', '1160', 'FFA0', '2800', '13441'),
    );
  });

  it('shows letters that are written from right to left as escapes, since they move what is around them', () => {
    expect(shown(0x5d0, 0x627, 0xfb1d, 0x10840, 0x1e900)).toEqual(
      expected('05D0', '0627', 'FB1D', '10840', '1E900'),
    );
  });

  it('shows characters that are drawn like another one by definition as escapes', () => {
    expect(shown(0x37e, 0x212a, 0x1fef, 0x2126)).toEqual(expected('037E', '212A', '1FEF', '2126'));
    expect(visible('e\u0301')).toBe('e⟦U+0301⟧');
    expect(visible('\u1100\u1161')).toBe('⟦U+1100⟧⟦U+1161⟧');
  });

  it('shows marks that are piled up, stand alone or strike out as escapes', () => {
    expect(visible('ж\u0323\u0324\u0325')).toBe('ж\u0323\u0324⟦U+0325⟧');
    expect(visible('"\u0323')).toBe('"⟦U+0323⟧');
    expect(visible('€\u0323')).toBe('€⟦U+0323⟧');
    expect(visible('\u0323')).toBe('⟦U+0323⟧');
    expect(visible('ж\n\u0323')).toBe('ж\n⟦U+0323⟧');
    expect(visible('ж\u0338ж\u20dd')).toBe('ж⟦U+0338⟧ж⟦U+20DD⟧');
  });

  it('shows bytes that are no UTF-8 as bytes, and characters that were decoded as characters', () => {
    const bytes = Buffer.from([0x61, 0xff, 0xc3, 0xa9, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf5, 0xe2, 0x82]);
    expect(visible(bytes)).toBe('a⟦0xFF⟧é⟦0xC0⟧⟦0x80⟧⟦0xED⟧⟦0xA0⟧⟦0x80⟧⟦0xF5⟧⟦0xE2⟧⟦0x82⟧');
    expect(visible(Buffer.from('\ufeffa'))).toBe('⟦U+FEFF⟧a');
  });

  it('shows tabs, and spaces at the end of a line', () => {
    expect(visible('\tx \t y  \n \nz')).toBe('⇥   x ⇥    y␠␠\n␠\nz');
  });

  it('cannot be made to look like an escape by what the code says', () => {
    expect(visible('⟦U+202E⟧')).toBe('⟦U+27E6⟧U+202E⟦U+27E7⟧');
    expect(visible('⇥   ␠ ┃')).toBe('⟦U+21E5⟧   ⟦U+2420⟧ ⟦U+2503⟧');
  });

  it('stays on one line where it must', () => {
    expect(visibleLine('a\nb\r\n')).toBe('a⟦U+000A⟧b⟦U+000D⟧⟦U+000A⟧');
  });

  it('holds safe characters only', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        for (const safe of [visible(text), visible(Buffer.from(text, 'latin1')), visibleLine(text)]) {
          expect(safe).toMatch(SAFE);
          expect(safe.replaceAll('\n', '')).not.toMatch(UNSAFE);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is read back as what it was, so that no two texts look the same', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(readBack(visible(text)).text).toBe(text);
        expect(readBack(visibleLine(text)).text).toBe(text);
      }),
      { numRuns: 500 },
    );
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 50 }).map((array) => Buffer.from(array)),
      fc
        .tuple(hostile, fc.uint8Array({ maxLength: 3 }), hostile)
        .map(([before, array, after]) => Buffer.concat([Buffer.from(before), array, Buffer.from(after)])),
    );
    fc.assert(
      fc.property(bytes, (given) => {
        expect(readBack(visible(given)).bytes).toEqual(given);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['spaces', `${' '.repeat(1_000_000)}x`],
    ['marks', '\u0323'.repeat(300_000)],
    ['marks on letters', 'ж\u0323'.repeat(300_000)],
    ['lines', '\n'.repeat(1_000_000)],
    ['ends of escapes', '⟧'.repeat(300_000)],
    ['surrogates', '\ud800'.repeat(300_000)],
  ])('takes no more than a moment for a million %s', (_what, text) => {
    const start = performance.now();
    visible(text);
    expect(performance.now() - start).toBeLessThan(LONGEST_MS);
  });

  it('takes no more than a moment for a million bytes that are no UTF-8, and for one among many that are', () => {
    const start = performance.now();
    visible(new Uint8Array(1_000_000).fill(0xe2));
    const large = new Uint8Array(4_000_000).fill(0x61);
    large[3_999_999] = 0xff;
    visible(large);
    expect(performance.now() - start).toBeLessThan(LONGEST_MS);
  });
});

/** What the escapes stand for, by a reader that shares nothing with the writer. */
function readBack(safe: string): { text: string; bytes: Buffer } {
  const parts: (string | number)[] = [];
  for (const match of safe.matchAll(/⟦U\+([0-9A-F]{4,6})⟧|⟦0x([0-9A-F]{2})⟧|⇥ {3}|␠|[^⟦⟧⇥␠]/gsu)) {
    const [whole, point, byte] = match;
    if (point !== undefined) parts.push(String.fromCodePoint(Number.parseInt(point, 16)));
    else if (byte !== undefined) parts.push(Number.parseInt(byte, 16));
    else parts.push(whole === '⇥   ' ? '\t' : whole === '␠' ? ' ' : whole);
  }
  return {
    text: parts.join(''),
    bytes: Buffer.concat(
      parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part))),
    ),
  };
}
