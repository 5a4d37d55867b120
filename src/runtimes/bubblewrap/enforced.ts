import { statfsSync } from 'node:fs';
import { hasOneProgram } from '../host/programGroups.ts';
import type { Enforced, SandboxSpec } from '../runtime.ts';
import type { BubblewrapParts } from './program.ts';

/** bubblewrap, its init and the relay; a program of a sandbox that lives on may get a second one of its own. */
const RELAY_PROCESSES = 6;

/** How many processes of ours may run in a sandbox beside its programs. Pure. */
export function extraProcesses(spec: SandboxSpec): number {
  return hasOneProgram(spec) ? 0 : RELAY_PROCESSES;
}

/** What holds a sandbox. */
type Held = Pick<BubblewrapParts, 'spec' | 'groups' | 'capabilities'> & {
  readonly stage: Pick<BubblewrapParts['stage'], 'folder' | 'user'>;
};

/** Reads back what holds: from the cgroup's files, from the file system, from the kernel's own user ids. */
export function readEnforced({ spec, stage, groups, capabilities }: Held): Enforced {
  const { limits, network } = spec.policy;
  const files = statfsSync(stage.folder.self);
  const diskMb = (files.blocks * files.bsize) / 1024 ** 2;
  const held = groups.whole?.held;
  const processes = held?.processes == null ? null : held.processes - extraProcesses(spec);
  const memoryMb =
    capabilities.limits.memoryMb === 'cgroup'
      ? held?.memoryBytes == null
        ? null
        : held.memoryBytes / 1024 ** 2 - diskMb
      : limits.memoryMb.value;
  return {
    isolation: 'namespace',
    network,
    filesystem: 'private',
    processes: 'contained',
    seccomp: true,
    uid: stage.user.uid,
    limits: {
      memoryMb: { value: memoryMb, by: capabilities.limits.memoryMb, default: limits.memoryMb.default },
      diskMb: { value: diskMb, by: 'tmpfs', default: limits.diskMb.default },
      processes:
        capabilities.limits.processes === 'none'
          ? { value: null, by: 'none', default: limits.processes.default }
          : {
              value: capabilities.limits.processes === 'cgroup' ? processes : limits.processes.value,
              by: capabilities.limits.processes,
              default: limits.processes.default,
            },
      cpu:
        held?.cpuCores == null
          ? { value: null, by: 'none', default: limits.cpu?.default ?? true }
          : { value: held.cpuCores, by: 'cgroup', default: limits.cpu?.default ?? true },
      timeoutSec: { value: limits.timeoutSec.value, by: 'timer', default: limits.timeoutSec.default },
    },
  };
}
