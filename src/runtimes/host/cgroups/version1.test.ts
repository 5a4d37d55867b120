import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

  it('lets a group save up one share of the processors where the kernel can', async () => {
    const cpu = join(mount, 'cpu');
    const limits = { memoryBytes: 4096, processes: 3, cpuCores: 0.25 };
    mkdirSync(join(cpu, 'old'), { recursive: true });
    mkdirSync(join(cpu, 'new'));
    writeFileSync(join(cpu, 'new/cpu.cfs_burst_us'), '0');
    const host = cgroupVersion1({ cpu }, [mount]);
    for (const name of ['old', 'new']) expect((await host.create(name, limits)).held.cpuCores).toBe(0.25);
    expect(readFileSync(join(cpu, 'new/cpu.cfs_burst_us'), 'utf8')).toBe('25000');
    expect(existsSync(join(cpu, 'old/cpu.cfs_burst_us'))).toBe(false);
  });

  it('sets its share of the processors again to refill it, and none where there is none', async () => {
    const cpu = join(mount, 'cpu');
    mkdirSync(join(cpu, 'box'), { recursive: true });
    const limits = { memoryBytes: 4096, processes: 3 };
    const host = cgroupVersion1({ cpu, memory: join(mount, 'memory') }, [mount]);
    const limited = await host.create('box', { ...limits, cpuCores: 0.25 });
    writeFileSync(join(cpu, 'box/cpu.cfs_quota_us'), 'used');
    limited.refill();
    expect(readFileSync(join(cpu, 'box/cpu.cfs_quota_us'), 'utf8')).toBe('25000');
    (await host.create('other', limits)).refill();
    expect(existsSync(join(cpu, 'other'))).toBe(false);
  });
});
