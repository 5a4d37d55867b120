/** An interrupt that was sent for one cell, and is on its way for so long that it comes while the next one runs. */
import { describe, expect, it } from 'vitest';
import { LANGUAGE_NAMES, type LanguageName } from '../../src/languages/language.ts';
import { LanguageContext } from '../../src/sandbox/context.ts';
import { TARGETS } from '../support/targets.ts';
import { delayInterrupts, isOfItsOwnKind, makeGuest, SAYINGS, shorthands } from './support.ts';

const target = TARGETS.find(isOfItsOwnKind);
if (target === undefined) throw new Error('A plain process works everywhere.');

/** Longer than it takes until one that was not heeded is sent again. */
const DELAY_MS = 700;

/** Code that ends well after about a second, unless it is interrupted. */
const WORKS: Readonly<Record<LanguageName, string>> = {
  python: 'import time\ntime.sleep(1)\nprint("done")',
  javascript: 'for (const until = Date.now() + 1000; Date.now() < until; );console.log("done")',
  shell: 'sleep 1; echo done',
};
/** Code that an interrupt does not end before it would have ended anyway. */
const HEEDLESS: Readonly<Record<LanguageName, string>> = {
  python: 'print("begun\\n", end="")',
  javascript: 'console.log("begun")',
  shell: 'echo begun',
};

describe.each(LANGUAGE_NAMES)('an interrupt of a %s cell that comes late', (language) => {
  it.each([
    ['is sent twice', SAYINGS[language].busy],
    ['was not needed', HEEDLESS[language]],
  ])('does not reach the next cell when it %s', async (_title, code) => {
    const guest = await makeGuest(target);
    const late: Promise<void>[] = [];
    try {
      delayInterrupts(guest, DELAY_MS, late);
      const context = await LanguageContext.create(guest, { language });
      const { run, print } = shorthands(context);
      await run(code, {
        onOutput: ({ text }) => {
          if (text.includes('begun')) void context.interrupt();
        },
      });
      expect(late.length).toBeGreaterThan(0);
      expect(await print(WORKS[language])).toBe('done\n');
      await context.close();
    } finally {
      await Promise.allSettled(late);
      await guest.destroy();
    }
  });
});
