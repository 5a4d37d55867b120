import { CLAUSES } from '../../src/contract/index.ts';
import { CLAUSES_LEFT_OUT, whyLeftOut } from '../support/notOnWarmGuests.ts';
import { describeMissing } from '../support/targets.ts';
import { WARM_TARGETS } from '../support/warmTargets.ts';
import { holdToContract } from './holdToContract.ts';

for (const { name, runtime } of WARM_TARGETS) {
  const leftOut = (id: string) => whyLeftOut(CLAUSES_LEFT_OUT, name, (one) => one === id);
  await holdToContract(`${name}, each program warm`, runtime, runtime.name, leftOut);
}
describeMissing('the contract with warm programs');

const unknown = CLAUSES_LEFT_OUT.flatMap(({ names }) => names).filter(
  (name) => !CLAUSES.some(({ id }) => id === name),
);
if (unknown.length > 0) throw new Error(`Clauses are left out that there are not: ${unknown.join(', ')}`);
