import { readFileSync } from 'node:fs';
import type { Enforced } from '../runtime.ts';
import { processesOfOurs } from './container.ts';
import type { ContainerState } from './containers.ts';
import { describeSecurity } from './security.ts';
import { type DockerParts, sharesNetworks } from './start.ts';

/**
 * What the engine says that it holds, but for what it is known not to hold here. No program starts without the relay
 * that was asked for.
 */
export function readEnforced(parts: DockerParts, { HostConfig, State }: ContainerState): Enforced {
  const { spec, capabilities, connection, seccompProfile } = parts;
  const { limits, network } = spec.policy;
  const relay = spec.relay !== undefined;
  const keeps = spec.singleUse !== true;
  const by = capabilities.limits;
  const held = (name: keyof typeof by): boolean => by[name] !== 'none';
  const memoryMb =
    held('memoryMb') && HostConfig.Memory > 0 ? HostConfig.Memory / 1024 ** 2 - limits.diskMb.value : null;
  const ours = processesOfOurs({ relay: relay && (!keeps || sharesNetworks(parts)), keeps });
  const pids = held('processes') && HostConfig.PidsLimit;
  const processes = by.processes === 'rlimit' ? limits.processes.value : pids ? pids - ours : null;
  const cpu = held('cpu') && HostConfig.NanoCpus > 0 ? HostConfig.NanoCpus / 1e9 : null;
  return {
    isolation: capabilities.isolation,
    network:
      HostConfig.NetworkMode !== 'none' ? 'open' : relay && network === 'allowlist' ? 'allowlist' : 'none',
    filesystem: 'private',
    processes: 'contained',
    seccomp: capabilities.seccomp,
    securityOptions: describeSecurity(HostConfig.SecurityOpt ?? [], seccompProfile),
    uid: connection.ownKernel ? null : hostUid(State.Pid),
    limits: {
      memoryMb: {
        value: memoryMb,
        by: memoryMb === null ? 'none' : by.memoryMb,
        default: limits.memoryMb.default,
      },
      diskMb: { value: limits.diskMb.value, by: 'tmpfs', default: limits.diskMb.default },
      processes: {
        value: processes,
        by: processes === null ? 'none' : by.processes,
        default: limits.processes.default,
      },
      cpu: { value: cpu, by: cpu === null ? 'none' : by.cpu, default: limits.cpu?.default ?? true },
      timeoutSec: { value: limits.timeoutSec.value, by: 'timer', default: limits.timeoutSec.default },
    },
  };
}

/** The user that this host's kernel sees, where the engine runs on it and not on a machine of its own. */
function hostUid(pid: number): number | null {
  try {
    const cgroup = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
    const uid = /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return /[0-9a-f]{64}/.test(cgroup) && uid !== undefined ? Number(uid) : null;
  } catch {
    // No such process here: then nobody here sees a user.
    return null;
  }
}
