import { expect, it } from 'vitest';
import { shown, shownLine } from './shownText.ts';

it('shows as text what would act on a terminal, turn text around or not be seen', () => {
  expect(shown('\x1b[31mred\x07 a\rb')).toBe('⟦U+001B⟧[31mred⟦U+0007⟧ a⟦U+000D⟧b');
  expect(shown('a\u202eb\u2066c\u200bd\u2028e\u0085f\ufefff')).toBe(
    'a⟦U+202E⟧b⟦U+2066⟧c⟦U+200B⟧d⟦U+2028⟧e⟦U+0085⟧f⟦U+FEFF⟧f',
  );
  expect(shown('half \ud800 private \ue000')).toBe('half ⟦U+D800⟧ private ⟦U+E000⟧');
});

it('leaves alone what is plainly visible, tabs and line feeds', () => {
  const text = 'naïve \t日本語 😀 ✔\ufe0f <b>&amp;</b>\n  end  ';
  expect(shown(text)).toBe(text);
});

it('lets no text pretend to be an escape of ours', () => {
  expect(shown('⟦U+001B⟧')).toBe('⟦U+27E6⟧U+001B⟦U+27E7⟧');
});

it('keeps a line on its line, and cuts it where it is told to, between characters', () => {
  expect(shownLine('a\n\tb')).toBe('a⟦U+000A⟧⟦U+0009⟧b');
  expect(shownLine('😀😀😀', 4)).toBe('😀😀😀');
  expect(shownLine('😀'.repeat(10), 4)).toBe('😀😀😀😀…');
  expect(shownLine('abcdef', 3)).toBe('abc…');
});
