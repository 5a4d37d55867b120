import { describe, expect, it } from 'vitest';
import type { Measured } from '../row.ts';
import { cellsOf, remarksOf } from './cells.ts';
import { formatNumber } from './format.ts';
import { howMeasured, markdownTable } from './markdown.ts';
import type { MeasuredRow } from './report.ts';

const measured: Measured = {
  status: 'measured',
  ours: { n: 100, p50: 1.234, p95: 2.5, min: 0.98765 },
  baseline: { n: 100, p50: 12.345, p95: 20, min: 8, what: 'bare python3 -c' },
  ratio: 0.0951,
  warm: { executions: 100, by: ['fork_server'] },
};

const warm: MeasuredRow = {
  name: 'bubblewrap.python.warm',
  what: 'What is done.',
  unit: 'ms',
  result: measured,
};

const missing: MeasuredRow = {
  name: 'gvisor.python.warm',
  what: 'What is done.',
  unit: 'ms',
  result: { status: 'skipped', reason: 'There is no runsc.', fix: 'Install it.' },
};

describe('a row of the table', () => {
  it('has the ratio beside its limits, and the figures behind it', () => {
    expect(cellsOf(warm)).toEqual({
      name: 'bubblewrap.python.warm',
      ...{ ratio: '0.095', must: '≤ 0.2 ✓', aim: '≤ 0.08 ✗' },
      ...{ p50: '1.23 ms', p95: '2.5', min: '0.988', baseline: '12.3 ms', n: '100' },
    });
  });

  it('has no figures where there are none, and says in a word why', () => {
    expect(cellsOf(missing)).toEqual({
      name: 'gvisor.python.warm',
      ...{ ratio: 'skipped', must: '≤ 0.4', aim: '≤ 0.19' },
      ...{ p50: '', p95: '', min: '', baseline: '', n: '' },
    });
  });

  it('has no limits where nothing is promised', () => {
    expect(cellsOf({ ...warm, name: 'srt.python.cold' })).toMatchObject({ must: '', aim: '' });
  });

  it('is told in full below: why it has no figures, how it was warm, and what else was measured', () => {
    const also = { ...warm, name: 'flood', result: { ...measured, also: { memory_growth_mb: 2.71949 } } };
    expect([warm, missing, also].map(remarksOf)).toEqual([
      ['bubblewrap.python.warm: all 100 executions were warm (fork_server).'],
      ['gvisor.python.warm: There is no runsc. Install it.'],
      ['flood: all 100 executions were warm (fork_server).', 'flood: memory growth mb 2.72'],
    ]);
  });
});

describe('a number', () => {
  it.each([
    [0, '0'],
    [0.01234, '0.012'],
    [0.0996, '0.1'],
    [1.004, '1'],
    [12.345, '12.3'],
    [123.45, '123'],
    [1234.5, '1,235'],
    [-0.5, '-0.5'],
  ])('%d has as many digits as count: %s', (value, shown) => {
    expect(formatNumber(value)).toBe(shown);
  });
});

describe('the table of a document', () => {
  it('has only what was measured', () => {
    expect(markdownTable({ rows: [warm, missing] })).toBe(
      [
        '| row | ratio | must | aim | p50 | p95 | min | baseline p50 | n |',
        '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
        '| `bubblewrap.python.warm` | 0.095 | ≤ 0.2 ✓ | ≤ 0.08 ✗ | 1.23 ms | 2.5 | 0.988 | 12.3 ms | 100 |',
      ].join('\n'),
    );
  });

  it('is told of in a sentence, with the machine', () => {
    const machine = {
      ...{ system: 'linux 6.1 x64', processor: 'Some CPU', cores: 2, memoryMb: 8192 },
      ...{ node: 'v20.20.2', python: '3.11.2', glovebox: '0.1.0' },
    };
    expect(howMeasured({ measuredAt: '2026-01-02T03:04:05.000Z', pairs: 100, machine, rows: [] })).toMatch(
      /^Medians of 100 interleaved pairs in one run .* on 2026-01-02, with glovebox 0\.1\.0, Node 20\.20\.2 and Python 3\.11\.2, 2 cores \(Some CPU\), 8 GB, linux 6\.1 x64; /,
    );
  });
});
