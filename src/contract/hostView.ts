/** What this host's own kernel says, read here anew: a driver's word, or its code, is not a witness in its own case. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** How much of a name a process can give itself (`TASK_COMM_LEN` in <linux/sched.h>, without the NUL). */
const NAME_LENGTH = 15;

/**
 * Python with which a program whose last argument is such a word gives itself that as its name. One that became what it is in a
 * process that was there before has the arguments of that for all the host knows; its children have the name too.
 */
export const TAKE_NAME = `
import sys
try:
    with open('/proc/self/comm', 'w') as name: name.write(sys.argv[-1])
except OSError: pass
`;

/** The pids of all running processes that have this word among their arguments, or as their name. */
export function pidsWithWord(word: string): number[] {
  const name = `${word.slice(0, NAME_LENGTH)}\n`;
  return numericEntries('/proc').filter(
    (pid) =>
      (read(`/proc/${pid}/cmdline`)?.split('\0').includes(word) || read(`/proc/${pid}/comm`) === name) &&
      !isZombie(pid),
  );
}

/** The process with this word that sees itself as `insidePid`; undefined when this kernel does not run it. */
export function findByInsidePid(word: string, insidePid: number): number | undefined {
  return pidsWithWord(word).find((pid) => Number(statusOf(pid)['NSpid']?.split('\t').at(-1)) === insidePid);
}

/** The fields of `/proc/PID/status`. */
export function statusOf(pid: number | 'self'): Readonly<Record<string, string>> {
  return parseStatus(read(`/proc/${pid}/status`) ?? '');
}

/** The fields of a `status` file's text. Pure. */
export function parseStatus(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.includes(':'))
      .map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
  );
}

/** Which namespace of this kind the process is in, e.g. `net:[4026531840]`; undefined where we may not know. */
export function namespaceOf(pid: number | 'self', kind: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch {
    // Gone, of another user, or a kind that this kernel does not have.
    return undefined;
  }
}

/** The soft and the hard value of a line of `/proc/PID/limits`, e.g. `Max processes`. */
export function rlimitOf(pid: number, name: string): { soft: string; hard: string } | undefined {
  const line = read(`/proc/${pid}/limits`)
    ?.split('\n')
    .find((candidate) => candidate.startsWith(`${name} `));
  const [soft, hard] = line?.slice(name.length).trim().split(/\s+/) ?? [];
  return soft === undefined || hard === undefined ? undefined : { soft, hard };
}

/** A control file of the cgroup that the process is in: of this controller in version 1, or of version 2. */
export function cgroupFile(
  pid: number,
  controller: string,
  names: { readonly version1: string; readonly version2: string },
): string | undefined {
  for (const { controllers, path } of cgroupsOf(pid)) {
    for (const { folder, root, options } of cgroupMounts()) {
      const isItsMount = controllers === '' ? options === undefined : options?.includes(controller);
      if (!isItsMount || (controllers !== '' && !controllers.split(',').includes(controller))) continue;
      const below = root !== '/' && path.startsWith(root) ? path.slice(root.length) : path;
      const text = read(`${folder}${below}/${controllers === '' ? names.version2 : names.version1}`);
      if (text !== undefined) return text.trim();
    }
  }
  return undefined;
}

/** Things of ours that the host can see: descriptors, descendants, entries of the temporary folder, cgroups. */
export function traces(): Set<string> {
  // What another process of Glovebox makes has that one's pid in its name.
  const mayBeOurs = (name: string): boolean =>
    !name.startsWith('glovebox-') || name.split('-').includes(String(process.pid));
  return new Set([
    ...numericEntries('/proc/self/fd').flatMap((descriptor) => {
      const target = linkTarget(`/proc/self/fd/${descriptor}`);
      return target === undefined || target.endsWith('/fd') ? [] : [`descriptor ${descriptor} (${target})`];
    }),
    ...descendants(process.pid).map((pid) => `process ${pid} (${commandOf(pid)})`),
    ...entries(tmpdir())
      .filter(mayBeOurs)
      .map((name) => `${tmpdir()}/${name}`),
    ...cgroupMounts().flatMap(({ folder, root }) =>
      cgroupsOf('self').flatMap(({ path }) => {
        const own = `${folder}${root !== '/' && path.startsWith(root) ? path.slice(root.length) : path}`;
        return entries(own)
          .filter(mayBeOurs)
          .map((name) => `cgroup ${own}/${name}`);
      }),
    ),
  ]);
}

function descendants(parent: number): number[] {
  const parents = new Map(
    numericEntries('/proc').flatMap((pid): [number, number][] =>
      isZombie(pid) ? [] : [[pid, Number(statusOf(pid)['PPid'])]],
    ),
  );
  const found = [parent];
  for (const ancestor of found) {
    for (const [pid, itsParent] of parents) if (itsParent === ancestor) found.push(pid);
  }
  return found.slice(1);
}

function cgroupsOf(pid: number | 'self'): { controllers: string; path: string }[] {
  return (read(`/proc/${pid}/cgroup`) ?? '').split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    return controllers === undefined || path === undefined ? [] : [{ controllers, path }];
  });
}

/** Where cgroups are mounted; `options` is absent for version 2. */
function cgroupMounts(): { folder: string; root: string; options?: string[] }[] {
  return (read('/proc/self/mountinfo') ?? '').split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '/', folder = ''] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    if (type === 'cgroup2') return [{ folder, root }];
    return type === 'cgroup' ? [{ folder, root, options: options.split(',') }] : [];
  });
}

function isZombie(pid: number): boolean {
  return /^[ZX]/.test(statusOf(pid)['State'] ?? 'X');
}

function commandOf(pid: number): string {
  return (read(`/proc/${pid}/cmdline`) ?? '').replaceAll('\0', ' ').trim().slice(0, 80);
}

function numericEntries(folder: string): number[] {
  return entries(folder)
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Not there, or not ours to list: then there is nothing in it that we can see.
    return [];
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    // The descriptor that listed the folder is gone by now.
    return undefined;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Gone, or another user's: nothing to tell.
    return undefined;
  }
}
