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
  untilReaped,
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
    return {
      entrances: [`${folder}/cgroup.procs`],
      get held() {
        return {
          memoryBytes: readLimit(folder, 'memory.max'),
          processes: readLimit(folder, 'pids.max'),
          cpuCores: readCores(folder),
        };
      },
      measure: () => {
        const usageUs = readKeyed(folder, 'cpu.stat', 'usage_usec');
        const peakMemory = readControl(folder, 'memory.peak');
        const peakProcesses = readControl(folder, 'pids.peak');
        return {
          oomKills: readKeyed(folder, 'memory.events', 'oom_kill') ?? 0,
          ...(usageUs === undefined ? {} : { cpuSec: usageUs / 1e6 }),
          ...(peakMemory === undefined ? {} : { peakMemoryBytes: Number(peakMemory) }),
          ...(peakProcesses === undefined ? {} : { peakProcesses: Number(peakProcesses) }),
        };
      },
      // Version 2 keeps peaks for the life of the group.
      resetPeaks() {},
      async settle() {
        if (controllers.has('pids')) await untilReaped(folder);
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
        if (controllers.has('pids')) writeControl(folder, 'pids.max', limits.processes);
      }),
      remove: () => removeGroup(folder),
    };
  };

  const makeGroup = (folder: string, limits: CgroupLimits): void => {
    mkdirSync(folder);
    if (controllers.has('memory')) {
      writeControl(folder, 'memory.max', limits.memoryBytes);
      if (existsSync(`${folder}/memory.swap.max`)) writeControl(folder, 'memory.swap.max', 0);
    }
    if (controllers.has('pids')) writeControl(folder, 'pids.max', limits.processes);
    if (controllers.has('cpu') && limits.cpuCores !== undefined) {
      const quota = Math.round(limits.cpuCores * PERIOD_US);
      writeControl(folder, 'cpu.max', `${quota} ${PERIOD_US}`);
      allowBurst(folder, 'cpu.max.burst', quota);
    }
  };

  return {
    version: 2,
    controllers,
    async create(name, limits) {
      try {
        makeGroup(`${parent}/${name}`, limits);
        return open(name, limits);
      } catch (error) {
        await removeGroup(`${parent}/${name}`);
        throw notMade(error);
      }
    },
    hurry: () => moveToWhereWeAre(own),
    async sweepHere() {
      await sweepIn(parent);
    },
    sweepEverywhere: async () => (await sweepBelow(mount)).length,
  };
}

function readCores(folder: string): number | null {
  const [quota, period] = (readControl(folder, 'cpu.max') ?? 'max').split(' ');
  return quota === undefined || quota === 'max' ? null : Number(quota) / Number(period);
}
