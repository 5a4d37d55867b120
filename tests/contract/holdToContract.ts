import { beforeAll, describe, expect, it } from 'vitest';
import { CLAUSES } from '../../src/contract/index.ts';
import { getToKnow, judge } from '../../src/contract/verify.ts';
import type { Runtime } from '../../src/runtimes/runtime.ts';

/** How many clauses are looked at at a time; more would only wait for the processors. */
const AT_A_TIME = 2;

/** One clause, on a machine that runs the tests of several engines at a time. */
const CLAUSE_TIMEOUT_SEC = 120;

/** A clause may wait for its turn, and then take its own time. */
const TEST_TIMEOUT_MS = 2.5 * CLAUSE_TIMEOUT_SEC * 1000;

/**
 * One test for each clause. A runtime that does not work here is skipped with its reason in the title, and
 * fails instead where `REQUIRED_RUNTIMES` names it. A clause that is left out, by its id, is skipped with the reason.
 */
export async function holdToContract(
  title: string,
  runtime: Runtime,
  requiredAs: string = runtime.name,
  whyLeftOut: (id: string) => string | undefined = () => undefined,
): Promise<void> {
  const probe = await runtime.probe();
  const required = (process.env['REQUIRED_RUNTIMES'] ?? '').split(',').includes(requiredAs);
  if (!probe.available && !required) {
    describe.skip(`${title} (not available: ${probe.reason})`, () => {
      it('is held to the contract', () => {});
    });
    return;
  }
  describe(title, () => {
    let subject: Awaited<ReturnType<typeof getToKnow>>;
    const takeTurn = turns(AT_A_TIME);

    beforeAll(async () => {
      subject = await getToKnow(runtime);
    });

    for (const clause of CLAUSES) {
      const because = whyLeftOut(clause.id);
      it.skipIf(because !== undefined).concurrent(
        because === undefined ? clause.promise : `${clause.promise} (left out: ${because})`,
        async () => {
          const report = await takeTurn(() =>
            judge(subject, clause, { clauseTimeoutSec: CLAUSE_TIMEOUT_SEC }),
          );
          const claimed = clause.claimedBy?.(subject.capabilities) ?? true;
          const mayLack = clause.language !== undefined && report.verdict === 'refused';
          // The reason first: a report of differing objects often does not reach whoever reads CI's output.
          expect(report.because, 'why it is broken').toBeUndefined();
          expect(report.verdict).toBe(claimed && !mayLack ? 'kept' : 'refused');
        },
        TEST_TIMEOUT_MS,
      );
    }
  });
}

/** Lets so many run at a time, and the others wait for their turn. */
export function turns(atATime: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = atATime;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
