/** What is said of a list of times, or of other figures: enough to see the usual and the bad case. */
export interface Spread {
  readonly n: number;
  readonly p50: number;
  readonly p95: number;
  readonly min: number;
}

/** Throws a `RangeError` where there is nothing to say something about. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new RangeError('There is no figure to say anything about.');
  const sorted = values.toSorted((a, b) => a - b);
  return {
    n: sorted.length,
    p50: quantile(sorted, 0.5),
    p95: quantile(sorted, 0.95),
    min: quantile(sorted, 0),
  };
}

/** Between the two neighbours of a place that lies between them, as R's type 7 and NumPy's default do. */
function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] as number;
  const above = sorted[Math.ceil(place)] as number;
  return below + (above - below) * (place - Math.floor(place));
}
