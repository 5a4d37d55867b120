import { bubblewrap } from '../../src/runtimes/bubblewrap/index.ts';
import { holdToContract } from './holdToContract.ts';

await holdToContract('bubblewrap', bubblewrap());
await holdToContract('bubblewrap without cgroups', bubblewrap({ cgroups: null }));
