import { docker } from '../../src/runtimes/docker/index.ts';
import { holdToContract } from './holdToContract.ts';

await holdToContract('docker', docker());
