import { describe, expect, it } from 'vitest';
import type { Measured, NotMeasured } from '../row.ts';
import { reportFromJson, reportToJson } from './json.ts';
import type { BenchReport } from './report.ts';

const machine = {
  ...{ system: 'linux 6.1 x64', processor: 'Some CPU', cores: 2, memoryMb: 8000 },
  ...{ node: 'v20.20.2', python: '3.11.2', glovebox: '0.1.0' },
};

const warm: Measured = {
  status: 'measured',
  ours: { n: 100, p50: 1, p95: 2, min: 0.5 },
  baseline: { n: 100, p50: 10, p95: 20, min: 8, what: 'bare python3 -c' },
  ratio: 0.1,
  warm: { executions: 100, by: ['fork_server'] },
};

function reportOf(name: string, result: Measured | NotMeasured): BenchReport {
  const row = { name, what: 'What is done.', unit: 'ms' as const, result };
  return { measuredAt: '2026-01-02T03:04:05.000Z', pairs: 100, machine, rows: [row] };
}

const jsonOf = (name: string, result: Measured | NotMeasured) => reportToJson(reportOf(name, result)).rows[0];

describe('a report as JSON', () => {
  it('has where it was measured, and each row with its figures, its baseline and its goal', () => {
    expect(reportToJson(reportOf('bubblewrap.python.warm', warm))).toEqual({
      measured_at: '2026-01-02T03:04:05.000Z',
      pairs: 100,
      machine: {
        ...{ system: 'linux 6.1 x64', processor: 'Some CPU', cores: 2, memory_mb: 8000 },
        ...{ node: 'v20.20.2', python: '3.11.2', glovebox: '0.1.0' },
      },
      rows: [
        {
          name: 'bubblewrap.python.warm',
          what: 'What is done.',
          unit: 'ms',
          status: 'measured',
          ...{ n: 100, p50: 1, p95: 2, min: 0.5, ratio: 0.1 },
          baseline: { n: 100, p50: 10, p95: 20, min: 8, what: 'bare python3 -c' },
          warm: { executions: 100, by: ['fork_server'] },
          also: {},
          goal: {
            ...{ of: 'ratio', better: 'lower', must: 0.2, aim: 0.08 },
            ...{ meets_must: true, meets_aim: false },
          },
        },
      ],
    });
  });

  it('says of a row without figures why, and neither that its goal is met nor that it is not', () => {
    const missing: NotMeasured = { status: 'skipped', reason: 'There is no runsc.', fix: 'Install it.' };
    expect(jsonOf('gvisor.python.warm', missing)).toMatchObject({
      ...{ status: 'skipped', reason: 'There is no runsc.', fix: 'Install it.' },
      goal: { must: 0.4, meets_must: null, meets_aim: null },
    });
  });

  it.each([
    ['more is better', 'bubblewrap.python.throughput', { ratio: 2 }, [true, false]],
    ['the figure itself counts', 'bubblewrap.python.idle_memory', { ratio: 99 }, [true, true]],
    ['it is above its limit', 'bubblewrap.python.warm', { ratio: 0.21 }, [false, false]],
  ])('judges where %s', (_, name, changed, met) => {
    const goal = jsonOf(name, { ...warm, ...changed })?.goal;
    expect([goal?.meets_must, goal?.meets_aim]).toEqual(met);
  });

  it.each<[string, Measured | NotMeasured]>([
    ['a row with a baseline', warm],
    ['a row without', { status: 'measured', ours: warm.ours, also: { memory_growth_mb: 3 } }],
    ['a row that was not measured', { status: 'not_warm', reason: 'Nothing waits.' }],
  ])('is read again as it was: %s', (_, result) => {
    const report = reportOf('some.row', result);
    expect(reportFromJson(JSON.parse(JSON.stringify(reportToJson(report))))).toEqual(report);
  });
});
