import { accessSync, constants, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { CgroupHost } from './cgroup.ts';
import { members, readControl } from './files.ts';
import { cgroupVersion1, type Version1Parents } from './version1.ts';
import { cgroupVersion2 } from './version2.ts';

/** The hierarchies as `/proc/self/mountinfo` and `/proc/self/cgroup` tell them. */
export interface CgroupLayout {
  /** Our own folder in the unified hierarchy, and where that is mounted. */
  readonly unified?: { readonly mount: string; readonly own: string };
  /** Our own folder in each version 1 hierarchy, and where that is mounted, by controller. */
  readonly version1: Readonly<Record<string, { readonly mount: string; readonly own: string }>>;
}

/** Finds cgroups that we may make groups in; undefined where there are none. Changes nothing. */
export function findCgroups(root = '/proc/self'): CgroupHost | undefined {
  let layout: CgroupLayout;
  try {
    layout = cgroupLayout(readFileSync(`${root}/mountinfo`, 'utf8'), readFileSync(`${root}/cgroup`, 'utf8'));
  } catch (error) {
    // Not Linux, or /proc is not mounted.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return findVersion1(layout) ?? findVersion2(layout);
}

/** Where our own groups are. Pure. */
export function cgroupLayout(mountinfo: string, membership: string): CgroupLayout {
  const own = new Map<string, string>();
  for (const line of membership.trim().split('\n')) {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    for (const controller of controllers.split(',')) own.set(controller, path);
  }
  const version1: Record<string, { mount: string; own: string }> = {};
  let unified: CgroupLayout['unified'];
  for (const line of mountinfo.trim().split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , mountRoot = '/', mount = ''] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    const within = (path: string): string => {
      const relative = mountRoot !== '/' && path.startsWith(mountRoot) ? path.slice(mountRoot.length) : path;
      return relative === '/' || relative === '' ? mount : `${mount}${relative}`;
    };
    if (type === 'cgroup2' && own.has('')) unified = { mount, own: within(own.get('') ?? '/') };
    if (type === 'cgroup') {
      for (const option of options.split(',')) {
        const path = own.get(option);
        if (path !== undefined) version1[option] = { mount, own: within(path) };
      }
    }
  }
  return { version1, ...(unified ? { unified } : {}) };
}

function findVersion1({ version1 }: CgroupLayout): CgroupHost | undefined {
  const parents: { -readonly [Name in keyof Version1Parents]: string } = {};
  const mounts = new Set<string>();
  for (const name of ['memory', 'pids', 'cpu', 'cpuacct'] as const) {
    const found = version1[name];
    if (found === undefined || !isWritable(found.own)) continue;
    parents[name] = found.own;
    mounts.add(found.mount);
  }
  return parents.memory !== undefined || parents.pids !== undefined
    ? cgroupVersion1(parents, [...mounts])
    : undefined;
}

/**
 * The nearest group above our own that hands controllers down and that we may write: a group with processes
 * of its own cannot (the kernel's "no internal processes" rule), the root excepted.
 */
function findVersion2({ unified }: CgroupLayout): CgroupHost | undefined {
  if (unified === undefined) return undefined;
  const { mount, own } = unified;
  for (let folder = own; folder.length >= mount.length; folder = dirname(folder)) {
    if (!isWritable(folder) || !isWritable(`${folder}/cgroup.procs`)) return undefined;
    const handedDown = new Set((readControl(folder, 'cgroup.subtree_control') ?? '').split(' '));
    const controllers = new Set((['memory', 'pids', 'cpu'] as const).filter((name) => handedDown.has(name)));
    if (controllers.has('memory') || controllers.has('pids'))
      return cgroupVersion2(folder, own, mount, controllers);
    if (folder !== own && members(folder).length > 0) return undefined;
  }
  return undefined;
}

/** Whether this process may write there. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    // EACCES, EROFS or ENOENT: in each case nothing can be made here.
    return false;
  }
}
