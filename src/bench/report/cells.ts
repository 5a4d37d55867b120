import { GOALS, meets } from '../goals.ts';
import { formatFigure, formatNumber } from './format.ts';
import { comparedFigure } from './json.ts';
import type { MeasuredRow } from './report.ts';

/** A row of the table for people, as text: of a terminal's table and of a document's. */
export interface Cells {
  readonly name: string;
  readonly ratio: string;
  /** The limits, and whether the row keeps them. */
  readonly must: string;
  readonly aim: string;
  readonly p50: string;
  readonly p95: string;
  readonly min: string;
  /** The baseline's own median. */
  readonly baseline: string;
  readonly n: string;
}

const NOTHING = '';

/** Pure. A row without figures has only its name, and its `ratio` says so in a word. */
export function cellsOf({ name, unit, result }: MeasuredRow): Cells {
  const limits = limitsOf(name, result);
  if (result.status !== 'measured') {
    const word = { skipped: 'skipped', not_warm: 'not warm', failed: 'failed' }[result.status];
    const none = { p50: NOTHING, p95: NOTHING, min: NOTHING, baseline: NOTHING, n: NOTHING };
    return { name, ratio: word, ...limits, ...none };
  }
  const { ours, ratio, baseline } = result;
  return {
    name,
    ratio: ratio === undefined ? NOTHING : formatNumber(ratio),
    ...limits,
    p50: formatFigure(ours.p50, unit),
    p95: formatNumber(ours.p95),
    min: formatNumber(ours.min),
    baseline: baseline === undefined ? NOTHING : formatFigure(baseline.p50, unit),
    n: String(ours.n),
  };
}

function limitsOf(name: string, result: MeasuredRow['result']): Pick<Cells, 'must' | 'aim'> {
  const goal = GOALS[name];
  if (goal === undefined) return { must: NOTHING, aim: NOTHING };
  const figure = comparedFigure(goal, result);
  const limit = (value: number | undefined): string => {
    if (value === undefined) return NOTHING;
    const shown = `${goal.better === 'lower' ? '≤' : '≥'} ${formatNumber(value)}`;
    if (figure === undefined) return shown;
    return `${shown} ${meets(figure, value, goal) ? '✓' : '✗'}`;
  };
  return { must: limit(goal.must), aim: limit(goal.aim) };
}

/** What a table has no room for: why rows have no figures, how the others came to wait, and their other figures. */
export function remarksOf({ name, result }: MeasuredRow): string[] {
  if (result.status !== 'measured') {
    return [`${name}: ${result.reason}${result.fix === undefined ? '' : ` ${result.fix}`}`];
  }
  const { warm, also = {} } = result;
  return [
    ...(warm === undefined
      ? []
      : [`${name}: all ${warm.executions} executions were warm (${warm.by.join(', ')}).`]),
    ...Object.entries(also).map(
      ([figure, value]) => `${name}: ${figure.replaceAll('_', ' ')} ${formatNumber(value)}`,
    ),
  ];
}
