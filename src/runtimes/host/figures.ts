import type { Exit } from '../runtime.ts';
import type { Cgroup } from './cgroups/cgroup.ts';

/** What a group counted over one run; nothing where there is no group to count. */
export type Figures = Pick<Exit, 'oomKills' | 'usage'>;

/** Starts counting; the returned function tells what came since. */
export function startCounting(cgroup: Cgroup | undefined): () => Figures {
  if (cgroup === undefined) return () => ({});
  const before = cgroup.measure();
  cgroup.resetPeaks();
  return () => {
    const { oomKills, cpuSec, peakMemoryBytes, peakProcesses } = cgroup.measure();
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

/** Nobody can tell `exit(137)` from the signal; that the group lost a process to its limit decides. */
export function wasOutOfMemory(code: number, { oomKills }: Figures): boolean {
  return code === KILLED && (oomKills ?? 0) > 0;
}
