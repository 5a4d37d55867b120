import type { Exit } from '../runtime.ts';
import type { Cgroup } from './cgroups/cgroup.ts';

/** What a group counted over one run; nothing where there is no group to count. */
export type Figures = Pick<Exit, 'oomKills' | 'usage'>;

/** Starts counting; the returned function tells what came since. */
export function startCounting(cgroup: Cgroup | undefined): () => Figures {
  if (cgroup === undefined) return () => ({});
  const before = cgroup.totals();
  cgroup.resetPeaks();
  return () => {
    const { oomKills, cpuSec } = cgroup.totals();
    const { peakMemoryBytes, peakProcesses } = cgroup.peaks();
    return {
      oomKills: oomKills - before.oomKills,
      usage: {
        ...(cpuSec === undefined || before.cpuSec === undefined ? {} : { cpuSec: cpuSec - before.cpuSec }),
        ...(peakMemoryBytes === undefined ? {} : { peakMemoryMb: peakMemoryBytes / 1024 ** 2 }),
        ...(peakProcesses === undefined ? {} : { peakProcesses }),
      },
    };
  };
}

/** 128 and SIGKILL's number. */
export const KILLED = 137;

/**
 * With gVisor's platform systrap a process of the host holds the memory of each program. When the host ends that
 * one for want of memory, the program exits with EPERM, as though by itself (`errDeadSubprocess` and `runApp` in
 * its source; seen with the release of July 2024). Later releases end the whole sandbox.
 */
const LOST_ITS_MEMORY = 1;

/** Whether a program with this code may have been ended for want of memory. */
export function mayHaveLackedMemory(code: number, ownKernel = false): boolean {
  return code === KILLED || (ownKernel && code === LOST_ITS_MEMORY);
}

/** Nobody can tell `exit(137)` from the signal; that the group lost a process to its limit decides. */
export function wasOutOfMemory(code: number, { oomKills }: Figures, ownKernel = false): boolean {
  return mayHaveLackedMemory(code, ownKernel) && (oomKills ?? 0) > 0;
}
