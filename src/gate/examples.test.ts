import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LANGUAGE_NAMES, type LanguageName } from '../languages/language.ts';
import { inspectCode } from './inspectCode.ts';

/** The pieces of a file of examples, which a line of four hyphens divides. */
function examples(kind: 'harmless' | 'dangerous', language: LanguageName): string[] {
  const text = readFileSync(join(import.meta.dirname, 'examples', `${kind}.${language}.txt`), 'utf8');
  return text.split(/^----\n/m).map((piece) => piece.trimEnd());
}

async function dangersOf(code: string, language: LanguageName): Promise<string[]> {
  const { sights } = await inspectCode(code, language);
  return sights.filter(({ isDangerous }) => isDangerous).map(({ effect }) => effect);
}

describe.each(LANGUAGE_NAMES)('examples in %s', (language) => {
  it.each(examples('harmless', language))('raise no alarm for ordinary work: %s', async (code) => {
    expect(await dangersOf(code, language)).toEqual([]);
  });

  it.each(
    examples('dangerous', language).map((piece): [string, string] => {
      const [, effect = '', code = ''] = /^#> (\w+)\n(.*)$/s.exec(piece) ?? [];
      return [effect, code];
    }),
  )('are seen through their disguise as %s: %s', async (effect, code) => {
    expect(await dangersOf(code, language)).toContain(effect);
  });
});

it('there are many of them', () => {
  const count = (kind: 'harmless' | 'dangerous') =>
    LANGUAGE_NAMES.flatMap((language) => examples(kind, language)).length;
  expect(count('harmless')).toBeGreaterThan(140);
  expect(count('dangerous')).toBeGreaterThan(210);
});
