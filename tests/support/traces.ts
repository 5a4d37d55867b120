/** What a run could leave behind, read from the kernel and the engines and not by the sources under test. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What can outlive a process of ours; all of it bears its owner's name. */
export interface Traces {
  readonly folders: readonly string[];
  readonly cgroups: readonly string[];
  readonly mounts: readonly string[];
  /** Volumes too. */
  readonly containers: readonly string[];
}

export interface HostProcess {
  readonly pid: number;
  readonly command: string;
}

/** The label of everything that an engine was asked to make. */
const OWNER_LABEL = 'io.glovebox.owner';

/** Where names of ours may stand, besides the cgroup hierarchies. */
const PLACES = ['/tmp', '/var/tmp', '/dev/shm', '/run'];

/** What the process with this pid made, whether it still runs or not. */
export function tracesOf(pid: number): Traces {
  return {
    folders: [...new Set([tmpdir(), ...PLACES])].flatMap((place) =>
      entries(place)
        .filter((name) => isOwnedBy(pid, name))
        .map((name) => join(place, name)),
    ),
    cgroups: cgroupsOf(pid),
    mounts: mountsOf(pid),
    containers: inEngine().filter((owner) => isOwnedBy(pid, owner)),
  };
}

export const NO_TRACES: Traces = { folders: [], cgroups: [], mounts: [], containers: [] };

/** How much of a name a process can give itself (`TASK_COMM_LEN` in <linux/sched.h>, without the NUL). */
const NAME_LENGTH = 15;

/**
 * Processes with the text in their command line or environment, or with its beginning as their name; ones that only wait to be
 * reaped have none of the first two, and are not counted.
 */
export function processesWith(text: string): HostProcess[] {
  const name = `${text.slice(0, NAME_LENGTH)}\n`;
  return processes().filter(
    ({ pid, command }) =>
      pid !== process.pid &&
      (command.includes(text) ||
        readOrNothing(`/proc/${pid}/environ`).includes(text) ||
        (command !== '' && readOrNothing(`/proc/${pid}/comm`) === name)),
  );
}

/**
 * The children of this process, without those that only wait to be reaped. What starts them for it is none of them, and
 * is there as long as the process is.
 */
export function childrenOf(pid: number): HostProcess[] {
  const all = processes().filter(({ command }) => command !== '');
  const of = (parent: number): HostProcess[] => all.filter(({ pid: child }) => parentOf(child) === parent);
  return of(pid).flatMap((child) =>
    child.command.startsWith('glovebox-starter ') ? of(child.pid) : [child],
  );
}

/** Where each descriptor of a process leads to, by its number. */
export function descriptorsOf(pid: number): string[] {
  const numbers = entries(`/proc/${pid}/fd`).map(Number);
  return numbers.sort((a, b) => a - b).map((number) => readlinkSync(`/proc/${pid}/fd/${number}`));
}

/** Our own group in each cgroup hierarchy, and the groups above it, where one may have been made. */
export function cgroupFolders(): string[] {
  const own = new Map<string, string>();
  for (const line of readOrNothing('/proc/self/cgroup').trim().split('\n')) {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    own.set(controllers, path);
  }
  return cgroupMounts().flatMap(({ mount, version, options }) => {
    const path =
      version === 2
        ? own.get('')
        : [...own].find(([controllers]) => controllers !== '' && isIn(controllers, options))?.[1];
    const parts = (path ?? '/').split('/').filter(Boolean);
    return [...parts.keys(), parts.length].map((count) => join(mount, ...parts.slice(0, count)));
  });
}

/** Groups that the process with this pid made for its sandboxes, at any depth of any hierarchy. */
export function cgroupsOf(pid: number): string[] {
  return cgroupMounts().flatMap(({ mount }) => groupsBelow(mount, (name) => isOwnedBy(pid, name)));
}

/** What was left in a temporary folder that nobody else has. */
export function foldersIn(temporary: string): string[] {
  return entries(temporary).filter((name) => name.startsWith('glovebox'));
}

/** The mounts that bear the name of the process with this pid, and those of namespaces, which bear none. */
export function mountsOf(pid: number): string[] {
  return readOrNothing('/proc/self/mountinfo')
    .split('\n')
    .filter(
      (line) =>
        / - \w+ glovebox |\bbwrap\b|\/newroot|\/oldroot/.test(line) ||
        line.split(/[ /]/).some((part) => isOwnedBy(pid, part)),
    );
}

/** Who owns what the engine has of ours, containers that ended included; nobody where there is no engine to ask. */
function inEngine(): string[] {
  const owner = `label=${OWNER_LABEL}`;
  const format = `{{.Label "${OWNER_LABEL}"}}`;
  try {
    return [
      ['ps', '--all', '--filter', owner, '--format', format],
      ['volume', 'ls', '--filter', owner, '--format', format],
    ].flatMap((list) =>
      execFileSync('docker', list, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
        .split('\n')
        .filter(Boolean),
    );
  } catch {
    // Neither is there anything that could have made one.
    return [];
  }
}

/** A name as everything of ours bears it: of which pid namespace, process, time of its start, and what. */
function isOwnedBy(pid: number, name: string): boolean {
  const [, namespace, owner] = /^glovebox-(\d+)-(\d+)-\d+-[A-Za-z0-9]+$/.exec(name) ?? [];
  return owner === String(pid) && readlinkSync('/proc/self/ns/pid') === `pid:[${namespace}]`;
}

function processes(): HostProcess[] {
  return entries('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({
      pid: Number(name),
      command: readOrNothing(`/proc/${name}/cmdline`).replaceAll('\0', ' '),
    }));
}

function parentOf(pid: number): number | undefined {
  const [, parent] = /^PPid:\t(\d+)$/m.exec(readOrNothing(`/proc/${pid}/status`)) ?? [];
  return parent === undefined ? undefined : Number(parent);
}

function cgroupMounts(): { mount: string; version: 1 | 2; options: string }[] {
  return readOrNothing('/proc/self/mountinfo')
    .split('\n')
    .flatMap((line) => {
      const [, , , , mount = ''] = line.split(' ');
      const [type, , options = ''] = (line.split(' - ')[1] ?? '').split(' ');
      if (type !== 'cgroup' && type !== 'cgroup2') return [];
      return [{ mount, version: type === 'cgroup2' ? (2 as const) : (1 as const), options }];
    });
}

function groupsBelow(folder: string, wanted: (name: string) => boolean): string[] {
  return folders(folder).flatMap((name) => {
    const group = join(folder, name);
    return [...(wanted(name) ? [group] : []), ...groupsBelow(group, wanted)];
  });
}

function folders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    );
  } catch {
    // It is gone, or closed to us: nothing of ours is in it.
    return [];
  }
}

function isIn(controllers: string, options: string): boolean {
  return controllers.split(',').every((controller) => options.split(',').includes(controller));
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // It is gone, so nothing is in it.
    return [];
  }
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // A process that has ended meanwhile, or another user's.
    return '';
  }
}
