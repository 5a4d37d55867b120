import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LANGUAGE_NAMES, type LanguageName } from '../languages/language.ts';
import { inspectCode } from './inspectCode.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/inspection.md'), 'utf8');
const examples = [...text.matchAll(/^```(\w+) (finds=(\w+)|harmless|misses)\n(.*?)^```$/gms)].map(
  ([, language, claim = '', effect, code = '']) => ({
    language: language as LanguageName,
    claim: claim.replace(/=.*/, ''),
    effect,
    code,
  }),
);

async function dangersOf(code: string, language: LanguageName): Promise<string[]> {
  const { sights } = await inspectCode(code, language);
  return sights.filter(({ isDangerous }) => isDangerous).map(({ effect }) => effect);
}

describe('the page on inspection', () => {
  it('claims something of every piece of code that it shows', () => {
    expect(examples).toHaveLength([...text.matchAll(/^```\w/gm)].length);
    expect(examples.every(({ language }) => LANGUAGE_NAMES.includes(language))).toBe(true);
  });

  it('has an example for every effect', () => {
    const effects = [...text.matchAll(/^\*\*`(\w+)`\*\*/gm)].map(([, effect]) => effect);
    expect(effects).toHaveLength(11);
  });

  it.each(examples.filter(({ claim }) => claim === 'finds'))(
    'is right to find $effect: $code',
    async (one) => {
      expect(await dangersOf(one.code, one.language)).toContain(one.effect);
    },
  );

  it.each(examples.filter(({ claim }) => claim === 'harmless'))(
    'is right to call harmless: $code',
    async (one) => {
      expect(await dangersOf(one.code, one.language)).toEqual([]);
    },
  );

  it.each(examples.filter(({ claim }) => claim === 'misses'))(
    'is right to say that it misses: $code',
    async (one) => {
      expect(await dangersOf(one.code, one.language)).toEqual([]);
    },
  );
});
