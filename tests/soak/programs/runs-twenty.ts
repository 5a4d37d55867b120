/** Starts twenty executions that never end, on the runtime that it is told, and says when all of them run. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getSandbox } from '../../../src/index.ts';
import { RUNTIMES_UNDER_TEST } from '../../support/runtimes.ts';

const [name, marker = '', cwd = ''] = process.argv.slice(2);
const runtime = await RUNTIMES_UNDER_TEST.find((candidate) => candidate.name === name)?.load();
if (runtime === undefined) throw new Error(`There is no runtime under test that is called ${name}.`);

const code = readFileSync(join(import.meta.dirname, '../../programs/soak/never-ends.py'));
const sandbox = getSandbox({ runtime, cwd });
let running = 0;
await Promise.all(
  Array.from({ length: 20 }, () =>
    sandbox.execute(code, {
      timeout: 600,
      env: { MARKER: marker },
      onOutput() {
        running++;
        if (running === 20) console.log('all are running');
      },
    }),
  ),
);
