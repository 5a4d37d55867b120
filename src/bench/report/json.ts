import { GOALS, type Goal, meets } from '../goals.ts';
import type { Measured, NotMeasured, Unit } from '../row.ts';
import type { Spread } from '../statistics.ts';
import type { BenchReport, MeasuredRow } from './report.ts';

/** A report as `--json` prints it. Figures are in the unit of their row, in full. */
export interface JsonReport {
  readonly measured_at: string;
  readonly pairs: number;
  readonly machine: {
    readonly system: string;
    readonly processor: string;
    readonly cores: number;
    readonly memory_mb: number;
    readonly node: string;
    readonly python: string | null;
    readonly glovebox: string;
  };
  readonly rows: readonly JsonRow[];
}

export type JsonRow = {
  readonly name: string;
  readonly what: string;
  readonly unit: Unit;
  /** What is compared with them, which side is better, and whether it is met; null where there is no such goal. */
  readonly goal: {
    readonly of: Goal['of'];
    readonly better: Goal['better'];
    readonly must: number;
    readonly aim: number | null;
    readonly meets_must: boolean | null;
    readonly meets_aim: boolean | null;
  } | null;
} & (JsonMeasured | JsonNotMeasured);

interface JsonMeasured extends Spread {
  readonly status: 'measured';
  readonly ratio: number | null;
  readonly baseline: (Spread & { readonly what: string }) | null;
  readonly warm: { readonly executions: number; readonly by: readonly string[] } | null;
  readonly also: Readonly<Record<string, number>>;
}

interface JsonNotMeasured {
  readonly status: NotMeasured['status'];
  readonly reason: string;
  readonly fix: string | null;
}

export function reportToJson({ measuredAt, pairs, machine, rows }: BenchReport): JsonReport {
  const { memoryMb, python = null, ...rest } = machine;
  return {
    measured_at: measuredAt,
    pairs,
    machine: { ...rest, memory_mb: memoryMb, python },
    rows: rows.map(rowToJson),
  };
}

function rowToJson({ name, what, unit, result }: MeasuredRow): JsonRow {
  const row = { name, what, unit, goal: goalToJson(GOALS[name], result) };
  if (result.status !== 'measured') {
    const { status, reason, fix = null } = result;
    return { ...row, status, reason, fix };
  }
  const { status, ours, ratio = null, baseline = null, warm = null, also = {} } = result;
  return { ...row, status, ...ours, ratio, baseline, warm, also };
}

function goalToJson(goal: Goal | undefined, result: Measured | NotMeasured): JsonRow['goal'] {
  if (goal === undefined) return null;
  const { of, better, must, aim = null } = goal;
  const figure = comparedFigure(goal, result);
  const isMet = (limit: number | null): boolean | null =>
    figure === undefined || limit === null ? null : meets(figure, limit, goal);
  return { of, better, must, aim, meets_must: isMet(must), meets_aim: isMet(aim) };
}

/** What a row's goal is about; undefined where it was not measured. */
export function comparedFigure({ of }: Pick<Goal, 'of'>, result: Measured | NotMeasured): number | undefined {
  if (result.status !== 'measured') return undefined;
  return of === 'ratio' ? result.ratio : result.ours.p50;
}

/** What was written as JSON by this same version. */
export function reportFromJson({ measured_at, pairs, machine, rows }: JsonReport): BenchReport {
  const { memory_mb, python, ...rest } = machine;
  return {
    measuredAt: measured_at,
    pairs,
    machine: { ...rest, memoryMb: memory_mb, ...(python === null ? {} : { python }) },
    rows: rows.map((row) => ({
      name: row.name,
      what: row.what,
      unit: row.unit,
      result: resultFromJson(row),
    })),
  };
}

function resultFromJson(row: JsonRow): Measured | NotMeasured {
  if (row.status !== 'measured') {
    const { status, reason, fix } = row;
    return { status, reason, ...(fix === null ? {} : { fix }) };
  }
  const { status, n, p50, p95, min, ratio, baseline, warm, also } = row;
  return {
    status,
    ours: { n, p50, p95, min },
    ...(baseline === null ? {} : { baseline }),
    ...(ratio === null ? {} : { ratio }),
    ...(warm === null ? {} : { warm }),
    ...(Object.keys(also).length === 0 ? {} : { also }),
  };
}
