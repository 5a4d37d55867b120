/** What a row is held to: where it must be, and where trying further is not worth it. */
export interface Goal {
  readonly must: number;
  readonly aim?: number;
  /** What is compared with them: the ratio to the baseline, or the figure itself. */
  readonly of: 'ratio' | 'figure';
  readonly better: 'lower' | 'higher';
}

const ratio = (must: number, aim: number): Goal => ({ must, aim, of: 'ratio', better: 'lower' });

/**
 * The goals that this project set itself before it was built, by the names of rows (docs/benchmarks.md). Rows without
 * one are only told.
 */
export const GOALS: Readonly<Record<string, Goal>> = {
  'local.python.cold': ratio(1.3, 1.0),
  'bubblewrap.python.cold': ratio(1.8, 1.2),
  'local.python.warm': ratio(0.2, 0.08),
  'bubblewrap.python.warm': ratio(0.2, 0.08),
  'bubblewrap.python.warm.large_host': ratio(0.05, 0.015),
  'gvisor.python.warm': ratio(0.4, 0.19),
  'docker.python.warm': ratio(0.7, 0.4),
  'bubblewrap.javascript.warm': ratio(0.2, 0.08),
  'bubblewrap.shell.warm': ratio(1.0, 0.4),
  'bubblewrap.python.pandas.warm': ratio(0.1, 0.013),
  'bubblewrap.python.warm.idle_1000': ratio(1.5, 1.1),
  'bubblewrap.python.throughput': { must: 1.5, aim: 3, of: 'ratio', better: 'higher' },
  'bubblewrap.python.idle_memory': { must: 4, aim: 2, of: 'figure', better: 'lower' },
  flood: { must: 1, of: 'figure', better: 'higher' },
};

/** Whether a figure is as good as its limit. */
export function meets(figure: number, limit: number, { better }: Pick<Goal, 'better'>): boolean {
  return better === 'lower' ? figure <= limit : figure >= limit;
}
