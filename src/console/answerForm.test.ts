import { expect, it } from 'vitest';
import { answerFrom } from './answerForm.ts';

it('reads a yes for this once, for the same again, and for such operations', () => {
  const common = { answer: 'approve', hash: 'h', csrf: 'x', for_sec: '3600', count: '' };
  expect(answerFrom({ ...common, scope: 'once' })).toEqual({
    ...{ hash: 'h', hasRead: false, answer: { approved: true } },
  });
  expect(answerFrom({ ...common, scope: 'exact', count: '5', read: 'yes' })).toEqual({
    ...{ hash: 'h', hasRead: true },
    answer: { approved: true, grant: { scope: 'exact', forSec: 3600, count: 5 } },
  });
  expect(answerFrom({ ...common, scope: 'operation', for_sec: '' }).answer).toEqual({
    ...{ approved: true, grant: { scope: 'operation' } },
  });
});

it('reads a no, with a reason where one was given', () => {
  expect(answerFrom({ answer: 'deny', hash: 'h', reason: '' })).toEqual({
    ...{ hash: 'h', hasRead: false, answer: { approved: false } },
  });
  expect(answerFrom({ answer: 'deny', hash: 'h', reason: 'not today' }).answer).toEqual({
    ...{ approved: false, reason: 'not today' },
  });
});

it.each([
  [{}],
  [{ answer: 'approve', hash: 'h' }],
  [{ answer: 'approve', hash: 'h', scope: 'all' }],
  [{ answer: 'approve', hash: 'h', scope: 'exact', count: '0' }],
  [{ answer: 'approve', hash: 'h', scope: 'exact', for_sec: '-1' }],
  [{ answer: 'approve', hash: 'h', scope: 'exact', for_sec: '1e400' }],
  [{ answer: ['approve', 'deny'], hash: 'h', scope: 'once' }],
  [{ answer: 'approve', scope: 'once' }],
  [{ answer: 'deny', hash: 'h', reason: ['a', 'b'] }],
])('refuses %j', (form) => {
  expect(() => answerFrom(form)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
});
