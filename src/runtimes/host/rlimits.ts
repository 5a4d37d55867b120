import { availableParallelism } from 'node:os';
import type { Capabilities, ProgramLimits, SandboxSpec } from '../runtime.ts';
import type { LaunchStep } from './launcher.ts';

/** How many files one process may hold open. */
export const OPEN_FILES = 1024;

/** The resource limits of one program, whose own limits are lower than the sandbox's or for another time. */
export function programRlimits(
  { policy }: SandboxSpec,
  capabilities: Capabilities,
  limits: ProgramLimits = {},
): LaunchStep[] {
  const { memoryMb, diskMb, timeoutSec } = policy.limits;
  return [
    ...baseRlimits({
      timeoutSec: limits.timeoutSec ?? timeoutSec.value,
      diskMb: diskMb.value,
      cores: availableParallelism(),
    }),
    ...(capabilities.limits.memoryMb === 'rlimit'
      ? [memoryRlimit(Math.min(limits.memoryMb ?? memoryMb.value, memoryMb.value))]
      : []),
  ];
}

/**
 * The limits that every process of a host runtime gets besides its policy's: no core dumps, a bound on open
 * files, on the size of one file, and on processor time as a backstop behind the wall clock (all cores busy
 * for the whole time, and a little more).
 */
function baseRlimits(limits: {
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

/** About a century: what the kernel and every shell take for a number. */
const ENDLESS_SEC = 2 ** 31 - 1;

/** What a program can have used of the processors when its time is over, and a little more. */
export function processorSeconds(limits: { readonly timeoutSec: number; readonly cores: number }): number {
  return Math.min(Math.ceil(limits.timeoutSec + 2) * limits.cores, ENDLESS_SEC);
}

/**
 * The memory limit where no cgroup can hold it: private writable memory of each process. The address space
 * (`RLIMIT_AS`) would be the wrong measure: V8 reserves many gigabytes that it never touches.
 */
function memoryRlimit(memoryMb: number): LaunchStep {
  return { limit: 'dataKb', value: Math.ceil(memoryMb * 1024) };
}
