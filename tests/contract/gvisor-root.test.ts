import { gvisor } from '../../src/runtimes/gvisor/index.ts';
import { withExportedRoot } from '../support/exportedRoot.ts';
import { holdToContract } from './holdToContract.ts';

const TITLE = 'gvisor with a given root';

await withExportedRoot(TITLE, (root) => holdToContract(TITLE, gvisor({ root })));
