/** Does a piece of work when its turn comes. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** No more than `max` go on at a time; the others wait, in the order in which they came. */
export function turns(max: number): InTurn {
  const waiting: (() => void)[] = [];
  let free = max;
  return async (work) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
