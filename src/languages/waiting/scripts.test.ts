import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { embeddedWaiting } from '../../../scripts/embed-kernels.ts';

it('is what stands in the files beside it; if not: npx tsx scripts/embed-kernels.ts', () => {
  expect(readFileSync(new URL('scripts.ts', import.meta.url), 'utf8')).toBe(embeddedWaiting());
});
