import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cgroupVersion1 } from './version1.ts';

/** A folder that looks like cgroup version 1; the real one is in the tests of the runtimes. */
let mount: string;
beforeEach(() => {
  mount = mkdtempSync(join(tmpdir(), 'cgroup1-test-'));
  for (const name of ['memory', 'pids']) mkdirSync(join(mount, name));
});
afterEach(() => rmSync(mount, { recursive: true }));

describe('cgroup version 1', () => {
  it('is entered thread by thread, which waits for no grace period of the kernel', async () => {
    const parents = { memory: join(mount, 'memory'), pids: join(mount, 'pids') };
    const group = await cgroupVersion1(parents, [mount]).create('box', { memoryBytes: 4096, processes: 3 });
    expect(group.entrances).toEqual([join(mount, 'memory/box/tasks'), join(mount, 'pids/box/tasks')]);
  });
});
