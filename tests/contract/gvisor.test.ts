import { gvisor } from '../../src/runtimes/gvisor/index.ts';
import { holdToContract } from './holdToContract.ts';

await holdToContract('gvisor', gvisor());
await holdToContract('gvisor without cgroups', gvisor({ cgroups: null }));
