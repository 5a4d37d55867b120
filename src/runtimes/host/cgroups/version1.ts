import { existsSync, mkdirSync } from 'node:fs';
import type { Cgroup, CgroupHost, CgroupLimits, Controller } from './cgroup.ts';
import {
  allowBurst,
  killMembers,
  members,
  notMade,
  oneAtATime,
  readControl,
  readKeyed,
  readLimit,
  removeGroup,
  sweepBelow,
  sweepIn,
  writeControl,
} from './files.ts';

/** Where each controller's hierarchy is mounted and our own group in it, for the ones that we may write. */
export type Version1Parents = Readonly<Partial<Record<Controller | 'cpuacct', string>>>;

/** One quota period of the `cpu` controller, in microseconds. */
const PERIOD_US = 100_000;

/**
 * A thread that moves itself alone does not wait for the kernel: moving whole processes takes a lock whose
 * first taker after a while waits for an RCU grace period, some ten milliseconds (Linux 5.9 and later,
 * `cgroup_procs_write_start` in kernel/cgroup/cgroup.c). The launcher has one thread, so it is all that moves.
 */
const ENTRANCE = 'tasks';

/** Cgroups of version 1: one hierarchy for each controller, so one folder in each; `mounts` are their roots. */
export function cgroupVersion1(parents: Version1Parents, mounts: readonly string[]): CgroupHost {
  const controllers = new Set(
    (['memory', 'pids', 'cpu'] as const).filter((name) => parents[name] !== undefined),
  );
  const folderIn = (controller: keyof Version1Parents, name: string): string | undefined =>
    parents[controller] === undefined ? undefined : `${parents[controller]}/${name}`;

  const open = (name: string, limits: CgroupLimits): Cgroup => {
    const memory = folderIn('memory', name);
    const pids = folderIn('pids', name);
    const accounting = folderIn('cpuacct', name);
    const cpu = limits.cpuCores !== undefined ? folderIn('cpu', name) : undefined;
    const folders = [...new Set([memory, pids, accounting, cpu].filter((folder) => folder !== undefined))];
    if (accounting !== undefined) mkdirSync(accounting, { recursive: true });
    let { processes } = limits;
    const quota = cpu === undefined ? null : readLimit(cpu, 'cpu.cfs_quota_us');
    return {
      entrances: folders.map((folder) => `${folder}/${ENTRANCE}`),
      get held() {
        return {
          memoryBytes: memory ? readLimit(memory, 'memory.limit_in_bytes') : null,
          processes: pids ? readLimit(pids, 'pids.max') : null,
          cpuCores: quota === null ? null : quota / PERIOD_US,
        };
      },
      totals: () => ({
        oomKills: (memory && readKeyed(memory, 'memory.oom_control', 'oom_kill')) || 0,
        ...(accounting ? { cpuSec: Number(readControl(accounting, 'cpuacct.usage')) / 1e9 } : {}),
      }),
      peaks: () => ({
        ...(memory ? { peakMemoryBytes: Number(readControl(memory, 'memory.max_usage_in_bytes')) } : {}),
        ...peakProcesses(pids),
      }),
      resetPeaks() {
        if (memory) writeControl(memory, 'memory.max_usage_in_bytes', 0);
      },
      refill() {
        if (cpu && limits.cpuCores !== undefined)
          writeControl(cpu, 'cpu.cfs_quota_us', quotaOf(limits.cpuCores));
      },
      counted: () => Number((pids && readControl(pids, 'pids.current')) ?? 0),
      allowProcesses(count) {
        processes = count;
        if (pids) writeControl(pids, 'pids.max', count);
      },
      killAll: oneAtATime(async () => {
        if (folders.every((folder) => members(folder).length === 0)) return;
        if (pids) writeControl(pids, 'pids.max', 0);
        for (const folder of folders) await killMembers(folder);
        if (pids) writeControl(pids, 'pids.max', processes);
      }),
      async remove() {
        for (const folder of folders) await removeGroup(folder);
      },
      createWithin: (inner, innerLimits) => create(`${name}/${inner}`, innerLimits),
    };
  };

  const setLimits = (name: string, limits: CgroupLimits): void => {
    const memory = folderIn('memory', name);
    const pids = folderIn('pids', name);
    const cpu = folderIn('cpu', name);
    if (memory) {
      mkdirSync(memory);
      writeControl(memory, 'memory.limit_in_bytes', limits.memoryBytes);
      // Memory and swap together, where the kernel counts swap: otherwise the excess would go there.
      if (existsSync(`${memory}/memory.memsw.limit_in_bytes`)) {
        writeControl(memory, 'memory.memsw.limit_in_bytes', limits.memoryBytes);
      }
    }
    if (pids) {
      mkdirSync(pids, { recursive: true });
      writeControl(pids, 'pids.max', limits.processes);
    }
    if (cpu && limits.cpuCores !== undefined) {
      mkdirSync(cpu, { recursive: true });
      writeControl(cpu, 'cpu.cfs_period_us', PERIOD_US);
      const quota = quotaOf(limits.cpuCores);
      writeControl(cpu, 'cpu.cfs_quota_us', quota);
      allowBurst(cpu, 'cpu.cfs_burst_us', quota);
    }
  };

  const create = async (name: string, limits: CgroupLimits): Promise<Cgroup> => {
    try {
      setLimits(name, limits);
      return open(name, limits);
    } catch (error) {
      for (const folder of new Set(Object.values(parents))) await removeGroup(`${folder}/${name}`);
      throw notMade(error);
    }
  };

  return {
    version: 1,
    controllers,
    create,
    // Nobody waits here, and whoever moved a whole process would make the others wait.
    hurry() {},
    async sweepHere() {
      for (const folder of new Set(Object.values(parents))) await sweepIn(folder);
    },
    async sweepEverywhere() {
      const names = await Promise.all(mounts.map(sweepBelow));
      return new Set(names.flat()).size;
    },
  };
}

function quotaOf(cores: number): number {
  return Math.round(cores * PERIOD_US);
}

function peakProcesses(pids: string | undefined): { peakProcesses?: number } {
  const peak = pids === undefined ? undefined : readControl(pids, 'pids.peak');
  return peak === undefined ? {} : { peakProcesses: Number(peak) };
}
