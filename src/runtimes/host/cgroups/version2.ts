import { existsSync, mkdirSync } from 'node:fs';
import type { Cgroup, CgroupHost, CgroupLimits, Controller } from './cgroup.ts';
import {
  allowBurst,
  killMembers,
  members,
  moveToWhereWeAre,
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

/** One quota period of the `cpu` controller, in microseconds. */
const PERIOD_US = 100_000;

/** Cgroups of version 2: one folder below `parent`, which hands down the given controllers; `own` is ours,
 * `mount` the root of all. */
export function cgroupVersion2(
  parent: string,
  own: string,
  mount: string,
  controllers: ReadonlySet<Controller>,
): CgroupHost {
  const open = (name: string, limits: CgroupLimits): Cgroup => {
    const folder = `${parent}/${name}`;
    let { processes } = limits;
    return {
      entrances: [`${folder}/cgroup.procs`],
      get held() {
        return {
          memoryBytes: readLimit(folder, 'memory.max'),
          processes: readLimit(folder, 'pids.max'),
          cpuCores: readCores(folder),
        };
      },
      totals: () => {
        const usageUs = readKeyed(folder, 'cpu.stat', 'usage_usec');
        return {
          oomKills: readKeyed(folder, 'memory.events', 'oom_kill') ?? 0,
          ...(usageUs === undefined ? {} : { cpuSec: usageUs / 1e6 }),
        };
      },
      peaks: () => {
        const peakMemory = readControl(folder, 'memory.peak');
        const peakProcesses = readControl(folder, 'pids.peak');
        return {
          ...(peakMemory === undefined ? {} : { peakMemoryBytes: Number(peakMemory) }),
          ...(peakProcesses === undefined ? {} : { peakProcesses: Number(peakProcesses) }),
        };
      },
      // Version 2 keeps peaks for the life of the group.
      resetPeaks() {},
      refill() {
        if (controllers.has('cpu') && limits.cpuCores !== undefined) setQuota(folder, limits.cpuCores);
      },
      counted: () => Number((controllers.has('pids') && readControl(folder, 'pids.current')) || 0),
      allowProcesses(count) {
        processes = count;
        if (controllers.has('pids')) writeControl(folder, 'pids.max', count);
      },
      killAll: oneAtATime(async () => {
        if (members(folder).length === 0) return;
        if (existsSync(`${folder}/cgroup.kill`)) {
          writeControl(folder, 'cgroup.kill', 1);
          await killMembers(folder);
          return;
        }
        if (controllers.has('pids')) writeControl(folder, 'pids.max', 0);
        await killMembers(folder);
        if (controllers.has('pids')) writeControl(folder, 'pids.max', processes);
      }),
      remove: () => removeGroup(folder),
      async createWithin(inner, innerLimits) {
        handDown(folder);
        return create(`${name}/${inner}`, innerLimits);
      },
    };
  };

  /** Groups in a group have the controllers that it hands down to them. */
  const handDown = (folder: string): void => {
    const wanted = [...controllers].map((controller) => `+${controller}`).join(' ');
    try {
      if (wanted !== '') writeControl(folder, 'cgroup.subtree_control', wanted);
    } catch (error) {
      throw notMade(error);
    }
  };

  const makeGroup = (folder: string, limits: CgroupLimits): void => {
    mkdirSync(folder);
    if (controllers.has('memory')) {
      writeControl(folder, 'memory.max', limits.memoryBytes);
      if (existsSync(`${folder}/memory.swap.max`)) writeControl(folder, 'memory.swap.max', 0);
    }
    if (controllers.has('pids')) writeControl(folder, 'pids.max', limits.processes);
    if (controllers.has('cpu') && limits.cpuCores !== undefined) {
      allowBurst(folder, 'cpu.max.burst', setQuota(folder, limits.cpuCores));
    }
  };

  const create = async (name: string, limits: CgroupLimits): Promise<Cgroup> => {
    try {
      makeGroup(`${parent}/${name}`, limits);
      return open(name, limits);
    } catch (error) {
      await removeGroup(`${parent}/${name}`);
      throw notMade(error);
    }
  };

  return {
    version: 2,
    controllers,
    create,
    hurry: () => moveToWhereWeAre(own),
    async sweepHere() {
      await sweepIn(parent);
    },
    sweepEverywhere: async () => (await sweepBelow(mount)).length,
  };
}

function setQuota(folder: string, cores: number): number {
  const quota = Math.round(cores * PERIOD_US);
  writeControl(folder, 'cpu.max', `${quota} ${PERIOD_US}`);
  return quota;
}

function readCores(folder: string): number | null {
  const [quota, period] = (readControl(folder, 'cpu.max') ?? 'max').split(' ');
  return quota === undefined || quota === 'max' ? null : Number(quota) / Number(period);
}
