import { describeMissing } from '../support/targets.ts';
import { WARM_TARGETS } from '../support/warmTargets.ts';
import { holdToContract } from './holdToContract.ts';

for (const { name, runtime } of WARM_TARGETS) await holdToContract(`${name}, each program warm`, runtime);
describeMissing('the contract with warm programs');
