/** Many live sandboxes in one process, each with its own state. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SandboxManager } from '../../src/index.ts';
import { turns } from '../contract/holdToContract.ts';
import { describeMissing, TARGETS } from '../support/targets.ts';
import { childrenOf } from '../support/traces.ts';
import { expectNothingLeft, scratch } from './support.ts';

const SANDBOXES = 100;
const EXECUTIONS = 1000;

/** Numbers that look like chance and are the same each time (Lehmer's generator, as in the C++ `minstd_rand`). */
function* likeChance(): Generator<number> {
  for (let state = 1; ; ) {
    state = (state * 48_271) % 2_147_483_647;
    yield state;
  }
}

/** What our process and its children hold: children by their share of what several map. */
function memoryMb(): number {
  const shares = childrenOf(process.pid).map((pid) => {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0);
  });
  return process.memoryUsage.rss() / 1024 ** 2 + shares.reduce((sum, kb) => sum + kb, 0) / 1024;
}

describe.each(TARGETS.filter(({ name }) => name === 'bubblewrap'))('$name', (target) => {
  it(`holds ${SANDBOXES} sandboxes and ${EXECUTIONS} executions over them, none mixed up`, async () => {
    const manager = new SandboxManager({ runtime: target.runtime, cwd: scratch });
    const takeTurn = turns(4);
    const before = memoryMb();
    const ids = await Promise.all(
      Array.from({ length: SANDBOXES }, () => takeTurn(() => manager.createSandbox({ language: 'shell' }))),
    );
    expect(new Set(ids).size).toBe(SANDBOXES);
    const chance = likeChance();
    const plan = Array.from(
      { length: EXECUTIONS },
      () => ids[(chance.next().value as number) % SANDBOXES] ?? '',
    );
    await Promise.all(
      plan.map((id) =>
        takeTurn(() => manager.executeCode(id, `echo ${id} >>log; wc -l <log; sort -u log`)).then(
          (result) => {
            expect(result.stdout.split('\n')[1]).toBe(id);
          },
        ),
      ),
    );
    const each = (memoryMb() - before) / SANDBOXES;
    console.log(`An idle sandbox takes ${each.toFixed(2)} MB of this process and its children.`);
    for (const id of ids) {
      const { content } = await manager.readFile(id, 'log').catch(() => ({ content: '' }));
      const wanted = plan.filter((planned) => planned === id).length;
      expect(content).toBe(`${id}\n`.repeat(wanted));
    }
    expect(manager.list()).toHaveLength(SANDBOXES);
    await manager.close();
    await expectNothingLeft();
  }, 600_000);
});

describeMissing('many sandboxes');
