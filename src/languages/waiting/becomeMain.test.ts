import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { embeddedBecomeMain } from '../../../scripts/embed-kernels.ts';

it('is what stands in the file beside it; if not: npx tsx scripts/embed-kernels.ts', () => {
  expect(readFileSync(new URL('becomeMain.ts', import.meta.url), 'utf8')).toBe(embeddedBecomeMain());
});
