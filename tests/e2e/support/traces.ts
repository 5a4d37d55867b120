/** What a run could leave on this host, read from the kernel and not by the sources under test. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Command lines of processes that hold the text, by pid; ones that only wait to be reaped do not count. */
export function processesWith(nonce: string): Map<number, string> {
  const found = new Map<number, string>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const line = readOrNothing(`/proc/${name}/cmdline`).replaceAll('\0', ' ');
    if (line.includes(nonce)) found.set(Number(name), line);
  }
  return found;
}

/** Our own group in each cgroup hierarchy, and the groups above it, where one may have been made. */
export function cgroupFolders(): string[] {
  const own = new Map<string, string>();
  for (const line of readOrNothing('/proc/self/cgroup').trim().split('\n')) {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    own.set(controllers, path);
  }
  return readOrNothing('/proc/self/mountinfo')
    .split('\n')
    .flatMap((line) => {
      const [, , , , mount = ''] = line.split(' ');
      const [type, , options = ''] = (line.split(' - ')[1] ?? '').split(' ');
      if (type !== 'cgroup' && type !== 'cgroup2') return [];
      const path =
        type === 'cgroup2'
          ? own.get('')
          : [...own].find(([controllers]) => controllers !== '' && isIn(controllers, options))?.[1];
      const parts = (path ?? '/').split('/').filter(Boolean);
      return [...parts.keys(), parts.length].map((count) => join(mount, ...parts.slice(0, count)));
    });
}

/** Groups that the process with this pid made for its sandboxes. */
export function cgroupsOf(pid: number): string[] {
  return cgroupFolders().flatMap((folder) =>
    entries(folder)
      .filter((name) => name.startsWith('glovebox-') && name.split('-').includes(String(pid)))
      .map((name) => join(folder, name)),
  );
}

/** What was left in the temporary folder. */
export function foldersIn(temporary: string): string[] {
  return entries(temporary).filter((name) => name.startsWith('glovebox'));
}

/** The mounts of this machine that could be ours, without the numbers that change. */
export function mountsOfOurs(): string[] {
  return readOrNothing('/proc/self/mountinfo')
    .split('\n')
    .filter((line) => /glovebox|bwrap|\/newroot|\/oldroot/.test(line));
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
    return readFileSync(path, 'utf8');
  } catch {
    // A process that has ended meanwhile, or another user's.
    return '';
  }
}
