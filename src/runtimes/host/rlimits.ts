import type { LaunchStep } from './launcher.ts';

/** How many files one process may hold open. */
export const OPEN_FILES = 1024;

/**
 * The limits that every process of a host runtime gets besides its policy's: no core dumps, a bound on open
 * files, on the size of one file, and on processor time as a backstop behind the wall clock (all cores busy
 * for the whole time, and a little more).
 */
export function baseRlimits(limits: {
  readonly timeoutSec: number;
  readonly diskMb: number;
  readonly cores: number;
}): LaunchStep[] {
  return [
    { limit: 'coreBlocks', value: 0 },
    { limit: 'openFiles', value: OPEN_FILES },
    { limit: 'fileSizeKb', value: Math.ceil(limits.diskMb * 1024) },
    { limit: 'cpuSec', value: processorSeconds(limits) },
  ];
}

/** What a program can have used of the processors when its time is over, and a little more. */
export function processorSeconds(limits: { readonly timeoutSec: number; readonly cores: number }): number {
  return Math.ceil(limits.timeoutSec + 2) * limits.cores;
}

/**
 * The memory limit where no cgroup can hold it: private writable memory of each process. The address space
 * (`RLIMIT_AS`) would be the wrong measure: V8 reserves many gigabytes that it never touches.
 */
export function memoryRlimit(memoryMb: number): LaunchStep {
  return { limit: 'dataKb', value: Math.ceil(memoryMb * 1024) };
}
