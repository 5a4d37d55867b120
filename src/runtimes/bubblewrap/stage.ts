/**
 * The stage: a mount namespace of our own in which the sandbox's file system exists. Descriptors of ours keep
 * it: when they close, or when we are killed, the kernel frees all of it, and nothing was ever visible on the
 * host. The process that made it becomes the sandbox's first program, and later ones enter it.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, lstatSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { SandboxError } from '../../errors.ts';
import { Folder } from '../host/folder.ts';
import { notStarted } from '../host/hostGuest.ts';
import { isBelow } from '../host/interpreters.ts';
import { Launcher } from '../host/launch.ts';
import { launcherArguments } from '../host/launcher.ts';
import { leftIn, type OutputPipes } from '../host/pipes.ts';
import { NOTHING, STAND_INS, WRITABLE } from './arguments.ts';
import { readStatus, type Status } from './status.ts';
import type { Tools } from './tools.ts';

export interface Stage {
  /** Where the sandbox's file system is mounted in the stage. */
  readonly mount: string;
  /** The root of that file system, reachable from here. */
  readonly folder: Folder;
  readonly mountNamespace: number;
  /** Present when an ordinary user made the stage, in a user namespace. */
  readonly userNamespace?: number;
  readonly user: SandboxUser;
  /** Where folders that this user cannot reach by their own path are bound, by that path. */
  readonly bound: ReadonlyMap<string, string>;
  /** The process that made it, which waits to become the sandbox's first program. */
  readonly first: Waiting;
  close(): void;
}

/** A launcher in the stage, what it says, and the name of the file there in which it will look for its orders. */
export interface Waiting {
  readonly launcher: Launcher;
  readonly status: Status;
  readonly orders: string;
}

/** Shown inside as `/proc/1/environ`. */
export const LAUNCHER_ENVIRONMENT = { PATH: '/usr/bin:/bin' };

/** The user that a sandbox's programs run as, in the host's numbers. */
export interface SandboxUser {
  readonly uid: number;
  readonly gid: number;
}

/** Root gives each sandbox a user id of its own; anybody else can only give their own. */
export function chooseSandboxUser(): SandboxUser {
  if (process.getuid?.() === 0) {
    const id = FIRST_SANDBOX_UID + randomBytes(3).readUIntBE(0, 3);
    return { uid: id, gid: id };
  }
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

export interface StageSpec {
  readonly tools: Tools;
  readonly user: SandboxUser;
  readonly diskMb: number;
  /** Folders of interpreters, in the host's paths. */
  readonly prefixes: readonly string[];
  /** For the first program. */
  readonly output: OutputPipes;
}

/** Where the file system can be mounted: anywhere that exists, since only the stage sees it. */
const MOUNT_POINTS = ['/mnt', '/srv', '/media', '/opt', '/var', '/tmp', '/home'];

/** One inode for each so many bytes; bounds what many empty files cost in kernel memory. */
const BYTES_PER_INODE = 4096;

/** User ids that no account has: each sandbox of root's gets one of its own (2^24 from here). */
const FIRST_SANDBOX_UID = 0x60000000;

const DEADLINE_MS = 10_000;

/** Where the process that made the stage finds the orders for the first program. */
const FIRST_ORDERS = 'orders-first';

/** Makes a stage. Throws `SANDBOX_FAILED` with the reason when this host does not let us. */
export async function createStage({ tools, user, diskMb, prefixes, output }: StageSpec): Promise<Stage> {
  const asRoot = process.getuid?.() === 0;
  const mount = mountPoint(prefixes);
  const toBind = asRoot ? prefixes.filter((prefix) => !isReachableByOthers(prefix)) : [];
  const inodes = Math.max(1024, Math.ceil((diskMb * 1024 * 1024) / BYTES_PER_INODE));
  const options = `size=${Math.ceil(diskMb * 1024)}k,nr_inodes=${inodes},mode=0755,nosuid,nodev`;
  const bound = new Map(toBind.map((prefix, number) => [prefix, `${mount}/prefixes/${number}`]));
  const launcher = Launcher.start({
    argv: [
      tools.unshare,
      ...(asRoot ? [] : ['--user', '--map-root-user']),
      ...['--mount', '--propagation', 'private'],
      ...launcherArguments(
        tools.bash,
        [
          { mountMemory: mount, options, with: tools.mount },
          ...[...bound].map(([bind, at]) => ({ bind, at, with: tools.mount })),
        ],
        `${mount}/${FIRST_ORDERS}`,
      ),
    ],
    cwd: '/',
    environment: LAUNCHER_ENVIRONMENT,
    stdin: undefined,
    output,
  });
  const { child } = launcher;
  const status = readStatus(launcher.status);
  const timer = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
  const opened: number[] = [];
  let folder: Folder | undefined;
  try {
    const ready = await Promise.race([status.ready, launcher.exited.then(() => status.ready)]);
    if (!ready) throw stageFailed((await status.failure) ?? '', await leftIn(output.stderr));
    folder = Folder.open(`/proc/${child.pid}/root${mount}`);
    const openNamespace = (name: string): number => {
      const descriptor = openSync(`/proc/${child.pid}/ns/${name}`, 'r');
      opened.push(descriptor);
      return descriptor;
    };
    const stage: Stage = {
      mount,
      folder,
      mountNamespace: openNamespace('mnt'),
      ...(asRoot ? {} : { userNamespace: openNamespace('user') }),
      user,
      bound,
      first: { launcher, status, orders: FIRST_ORDERS },
      close: closeOnce(folder, opened),
    };
    furnish(stage, asRoot);
    return stage;
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor);
    folder?.close();
    await launcher.abandon();
    throw notStarted(error);
  } finally {
    clearTimeout(timer);
  }
}

/** A folder that exists and that no interpreter lives in or below. */
function mountPoint(prefixes: readonly string[]): string {
  const found = MOUNT_POINTS.find(
    (path) =>
      lstatSync(path, { throwIfNoEntry: false })?.isDirectory() &&
      !prefixes.some((prefix) => prefix === path || isBelow(prefix, path)),
  );
  if (found !== undefined) return found;
  throw new SandboxError('SANDBOX_FAILED', 'No folder is left to mount a sandbox on.', {
    hint: `Make one of these folders: ${MOUNT_POINTS.join(', ')}.`,
  });
}

/** True when every user may pass through all folders on the way to it. */
function isReachableByOthers(path: string): boolean {
  for (let end = path.indexOf('/', 1); ; end = path.indexOf('/', end + 1)) {
    const folder = end < 0 ? path : path.slice(0, end);
    const mode = lstatSync(folder, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & 0o001) === 0) return false;
    if (end < 0) return true;
  }
}

/** Makes the folders that programs may write to, and the files that stand in for the host's. */
function furnish(stage: Stage, chown: boolean): void {
  for (const name of Object.keys(WRITABLE)) {
    mkdirSync(stage.folder.entry(name));
    const made = stage.folder.enter(name);
    try {
      made.chmod(name === 'workspace' ? 0o755 : 0o1777);
      if (chown) made.chown(stage.user.uid, stage.user.gid);
    } finally {
      made.close();
    }
  }
  writeFileSync(stage.folder.entry(NOTHING), '', { mode: 0o444, flag: 'wx' });
  for (const [name, { text: content }] of Object.entries(STAND_INS)) {
    writeFileSync(stage.folder.entry(name), content, { mode: 0o644, flag: 'wx' });
  }
}

function closeOnce(folder: Folder, descriptors: readonly number[]): () => void {
  let open = true;
  return () => {
    if (!open) return;
    open = false;
    for (const descriptor of descriptors) closeSync(descriptor);
    folder.close();
  };
}

function stageFailed(reason: string, complaint: string): SandboxError {
  return new SandboxError(
    'SANDBOX_FAILED',
    `Namespaces cannot be made here: ${[reason, complaint.trim()].filter(Boolean).join(': ') || 'no reason given'}`,
    {
      hint: 'Run: glovebox doctor',
      details: { stderr: complaint.slice(0, 2000) },
    },
  );
}
