import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cgroupVersion2 } from './version2.ts';

/**
 * A folder that looks like cgroup version 2, for machines that have version 1: it shows which files are
 * written and read. That a real one is entered, counted and ended is in tests/contract/cgroup2.test.ts; what
 * the kernel makes of the limits shows only on a machine whose controllers are with version 2.
 */
let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'cgroup2-test-'));
});
afterEach(() => rmSync(parent, { recursive: true }));

const LIMITS = { memoryBytes: 1_048_576, processes: 8, cpuCores: 0.5 };

describe('cgroup version 2', () => {
  it('writes the limits and reads them back', async () => {
    const host = cgroupVersion2(parent, parent, parent, new Set(['memory', 'pids', 'cpu'] as const));
    const group = await host.create('box', LIMITS);
    expect(readdirSync(join(parent, 'box')).sort()).toEqual(['cpu.max', 'memory.max', 'pids.max']);
    expect(readFileSync(join(parent, 'box', 'cpu.max'), 'utf8')).toBe('50000 100000');
    expect(group.held).toEqual({ memoryBytes: 1_048_576, processes: 8, cpuCores: 0.5 });
    expect(group.entrances).toEqual([join(parent, 'box', 'cgroup.procs')]);
  });

  it('leaves alone what is not handed down, and says that nobody holds it', async () => {
    const host = cgroupVersion2(parent, parent, parent, new Set(['pids'] as const));
    const group = await host.create('box', LIMITS);
    expect(group.held).toEqual({ memoryBytes: null, processes: 8, cpuCores: null });
  });

  it('forbids swap where the kernel counts it', async () => {
    const host = cgroupVersion2(parent, parent, parent, new Set(['memory'] as const));
    // The kernel makes the files with the folder; here they must be there before.
    mkdirSync(join(parent, 'probe'));
    const group = await host.create('box', LIMITS);
    expect(group.held.memoryBytes).toBe(LIMITS.memoryBytes);
    expect(readdirSync(join(parent, 'box'))).not.toContain('memory.swap.max');
  });

  it('counts kills, processor time and peaks', async () => {
    const host = cgroupVersion2(parent, parent, parent, new Set(['memory', 'pids'] as const));
    const group = await host.create('box', LIMITS);
    const write = (file: string, text: string): void => writeFileSync(join(parent, 'box', file), text);
    write('memory.events', 'low 0\noom 3\noom_kill 2\n');
    write('cpu.stat', 'usage_usec 1500000\nuser_usec 1\n');
    write('memory.peak', '4096\n');
    write('pids.peak', '5\n');
    expect({ ...group.totals(), ...group.peaks() }).toEqual({
      oomKills: 2,
      cpuSec: 1.5,
      peakMemoryBytes: 4096,
      peakProcesses: 5,
    });
  });
});
