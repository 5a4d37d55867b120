import { local } from '../../src/runtimes/local/index.ts';
import { holdToContract } from './holdToContract.ts';

await holdToContract('local, a plain process', local({ isolation: 'none' }));
await holdToContract('local, a plain process without cgroups', local({ isolation: 'none', cgroups: null }));
await holdToContract('local, in namespaces', local({ isolation: 'namespace' }));
