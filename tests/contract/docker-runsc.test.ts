import { docker } from '../../src/runtimes/docker/index.ts';
import { holdToContract } from './holdToContract.ts';

await holdToContract('docker with runsc', docker({ runtime: 'runsc' }), 'docker-runsc');
