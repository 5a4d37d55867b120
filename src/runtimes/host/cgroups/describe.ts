import type { CgroupHost, Controller } from './cgroup.ts';

const CONTROLLERS: readonly Controller[] = ['memory', 'pids', 'cpu'];

/** What `doctor` says about this host's cgroups, with how to get what is missing. Pure. */
export function describeCgroups(
  cgroups: Pick<CgroupHost, 'version' | 'controllers'> | undefined,
  isRoot: boolean,
): string {
  const fix = isRoot ? MOUNT : DELEGATE;
  if (cgroups === undefined) {
    return `No cgroup can be written here, so that limits count for each process or are not held. ${fix}`;
  }
  const missing = CONTROLLERS.filter((name) => !cgroups.controllers.has(name));
  const held = CONTROLLERS.filter((name) => cgroups.controllers.has(name)).join(', ');
  const lacking = missing.length === 0 ? '' : ` Not ${missing.join(', ')}: ${fix}`;
  return `cgroups of version ${cgroups.version}, which hold ${held}.${lacking}`;
}

const DELEGATE =
  'Run as root, or in a delegated group: systemd-run --user --scope -p Delegate=yes COMMAND (systemd, version 2).';

const MOUNT =
  'This is root already: see whether /sys/fs/cgroup is mounted read-only; in a container, set the limits on the ' +
  'container itself (docker run --memory 1g --cpus 1 --pids-limit 256), or run in a delegated group: ' +
  'systemd-run --scope -p Delegate=yes COMMAND (systemd, version 2).';
