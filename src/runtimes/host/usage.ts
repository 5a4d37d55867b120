import type { Usage } from '../runtime.ts';
import type { CgroupFigures } from './cgroups/cgroup.ts';

/** What one run used, from the group's figures before and after it. Pure. */
export function usageBetween(before: CgroupFigures, after: CgroupFigures): Usage {
  return {
    ...(after.cpuSec === undefined || before.cpuSec === undefined
      ? {}
      : { cpuSec: after.cpuSec - before.cpuSec }),
    ...(after.peakMemoryBytes === undefined ? {} : { peakMemoryMb: after.peakMemoryBytes / (1024 * 1024) }),
    ...(after.peakProcesses === undefined ? {} : { peakProcesses: after.peakProcesses }),
  };
}
