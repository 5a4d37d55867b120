import type { GroupSizes } from '../host/programGroups.ts';
import type { SandboxSpec } from '../runtime.ts';

/** The workspace's pages count as memory: a full disk must be ENOSPC and not the end of the program. Pure. */
export function groupSizes({ policy }: SandboxSpec): GroupSizes {
  const diskMb = policy.limits.diskMb.value;
  return ({ memoryMb, processes }) => ({
    memoryBytes: Math.ceil((memoryMb + diskMb) * 1024 ** 2),
    processes,
  });
}
