import { expect, it } from 'vitest';
import type { LoggedRecord } from '../operations/auditTrail.ts';
import { type AuditQuery, filterOf, recordPage } from './auditView.ts';

const NOTHING: AuditQuery = {
  type: '',
  operation: '',
  id: '',
  sandbox: '',
  since: '',
  until: '',
  before: '',
};

async function* log(count: number): AsyncGenerator<LoggedRecord> {
  for (let seq = 1; seq <= count; seq++)
    yield { record: { seq, hash: '', prev: '', at: '2026-01-01T00:00:00Z', type: 'request' }, line: '' };
}

it('shows the newest records first, page by page, until there are no more', async () => {
  const seqs: number[][] = [];
  for (let before: number | undefined = Number.NaN; before !== undefined; ) {
    const page = await recordPage(log(1120), {
      ...NOTHING,
      before: Number.isNaN(before) ? '' : String(before),
    });
    seqs.push(page.records.map(({ seq }) => seq));
    before = page.before;
  }
  expect(seqs.flat()).toEqual(Array.from({ length: 1120 }, (_, i) => 1120 - i));
  expect(seqs.map(({ length }) => length)).toEqual([...Array(22).fill(50), 20]);
  expect(await recordPage(log(50), NOTHING)).toMatchObject({ before: undefined });
});

it('filters by what was given, and by no time that is none', () => {
  expect(filterOf(NOTHING)).toEqual({});
  expect(
    filterOf({
      ...NOTHING,
      type: 'ended',
      operation: 'execute',
      id: 'a',
      sandbox: 'b',
      since: '2026-01-01T10:00',
      until: 'x',
    }),
  ).toEqual({
    ...{ types: ['ended'], operations: ['execute'], id: 'a', sandboxId: 'b' },
    since: new Date('2026-01-01T10:00:00Z'),
  });
});
