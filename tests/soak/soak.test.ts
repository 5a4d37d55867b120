/** Two hundred executions on each runtime leave nothing behind, however they ended. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { getSandbox } from '../../src/index.ts';
import { ownedName } from '../../src/runtimes/host/owner.ts';
import { turns } from '../contract/holdToContract.ts';
import { eventually } from '../support/eventually.ts';
import { interpretersOf } from '../support/interpreters.ts';
import { describeMissing, TARGETS } from '../support/targets.ts';
import {
  childrenOf,
  type HostProcess,
  NO_TRACES,
  processesWith,
  type Traces,
  tracesOf,
} from '../support/traces.ts';
import { planExecutions, runExecution } from './executions.ts';

const AT_A_TIME = 4;
const TIMEOUT_MS = 600_000;

const scratch = mkdtempSync(join(tmpdir(), 'soak-test-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Namespaces are the same code under either name. */
const EACH_KIND = TARGETS.filter(({ name }) => name !== 'local with namespaces');

describe.each(EACH_KIND)('endurance: $name', (target) => {
  it(
    '200 executions, 20 of them cancelled and 20 timed out, end as they must and leave nothing',
    async () => {
      const marker = `soak-${randomUUID()}`;
      const sandbox = getSandbox({ runtime: target.runtime, cwd: scratch });
      await sandbox.execute('print(1)');
      const before = childrenOf(process.pid);
      const isOurs = ({ pid }: HostProcess): boolean => before.every((known) => known.pid !== pid);
      const left = (): Left => ({
        ...tracesOf(process.pid),
        marked: processesWith(marker),
        children: childrenOf(process.pid).filter(isOurs),
      });

      let during: Left = NOTHING;
      const containers = new Set<string>();
      const executions = planExecutions(target, await interpretersOf(target));
      const takeTurn = turns(AT_A_TIME);
      const ends = await Promise.all(
        executions.map((execution, index) =>
          takeTurn(async () => {
            // What is refused is no end that any of them may come to; the others go on.
            const end = await runExecution(execution, (code, options) =>
              sandbox.execute(code, { ...options, env: { MARKER: marker } }),
            ).catch(String);
            if (isEmpty(during)) during = left();
            if (index % 10 === 0) for (const id of await containersNow()) containers.add(id);
            return end;
          }),
        ),
      );

      const wrong = executions
        .map(({ what, expected }, index) => ({ what, expected, end: ends[index] }))
        .filter(({ expected, end }) => !isDeepStrictEqual(end, expected));
      expect(wrong).toEqual([]);
      expect(executions.length).toBe(200);
      // Control: something was there while they ran, and this way of looking finds it.
      expect(isEmpty(during)).toBe(false);
      await eventually('the last of them is reaped', () => left().children.length === 0);
      expect(left()).toEqual(NOTHING);
      // An engine's own processes for a container bear its id: none of those that were seen is left.
      expect([...containers].flatMap(processesWith)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describeMissing('endurance');

interface Left extends Traces {
  /** Processes that know the marker of these executions. */
  readonly marked: readonly HostProcess[];
  /** Processes that this one started and that still run. */
  readonly children: readonly HostProcess[];
}

const NOTHING: Left = { ...NO_TRACES, marked: [], children: [] };

function isEmpty(left: Left): boolean {
  return Object.values(left).every((list) => list.length === 0);
}

/** The ids of the containers that this process has at the engine; none where there is no engine. */
async function containersNow(): Promise<string[]> {
  try {
    const format = '{{.ID}} {{.Label "io.glovebox.owner"}}';
    const { stdout } = await promisify(execFile)('docker', ['ps', '--all', '--no-trunc', '--format', format]);
    const ours = ownedName('');
    return stdout.split('\n').flatMap((line) => {
      const [id = '', owner = ''] = line.split(' ');
      return owner.startsWith(ours) ? [id] : [];
    });
  } catch {
    return [];
  }
}
