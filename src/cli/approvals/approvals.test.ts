import { expect, it } from 'vitest';
import { sentenceOn } from './approvals.ts';

it('says of a yes in the last second that it may not have counted', () => {
  expect(sentenceOn({ approved: true }, 5000)).toBe('Approved.');
  const close = 'Approved, but so late that it may not have counted: see what came of it.';
  expect([999, 0, -5].map((leftMs) => sentenceOn({ approved: true }, leftMs))).toEqual([close, close, close]);
  expect([5000, -5].map((leftMs) => sentenceOn({ approved: false }, leftMs))).toEqual(['Denied.', 'Denied.']);
});
