/**
 * The stage: a mount namespace of our own in which the sandbox's file system exists. Descriptors of ours keep
 * it: when they close, or when we are killed, the kernel frees all of it, and nothing was ever visible on the
 * host. The process that made it becomes the sandbox's first program, and later ones enter it.
 */
import { close, closeSync, lstatSync, mkdirSync, openSync } from 'node:fs';
import { SandboxError } from '../../errors.ts';
import { Folder } from './folder.ts';
import { WRITABLE } from './furniture.ts';
import { notStarted } from './hostGuest.ts';
import { isBelow } from './interpreters.ts';
import { Launcher, type LauncherSpec } from './launch.ts';
import type { LaunchStep } from './launcher.ts';
import { leftIn, type OutputPipes } from './pipes.ts';
import { ownerOtherThanUs, type SandboxUser } from './sandboxUser.ts';
import { readStatus, type Status } from './status.ts';

export interface Stage {
  /** Where the sandbox's file system is mounted in the stage. */
  readonly mount: string;
  /** The root of that file system, reachable from here. */
  readonly folder: Folder;
  readonly mountNamespace: number;
  /** Present when an ordinary user made the stage, in a user namespace. */
  readonly userNamespace?: number;
  readonly user: SandboxUser;
  /** The process that made it, which waits to become the sandbox's first program. */
  readonly first: Waiting;
  close(): void;
}

/** A launcher in the stage, what it says, and the name of the file there in which it will look for its orders. */
export interface Waiting {
  readonly launcher: Launcher;
  readonly status: Status;
  readonly orders: string;
  readonly stdin: LauncherSpec['stdin'];
}

/** Shown inside as `/proc/1/environ`. */
export const LAUNCHER_ENVIRONMENT = { PATH: '/usr/bin:/bin' };

export interface StageSpec {
  /** The command that makes the namespaces; what it shall run there is added at its end. */
  readonly enter: readonly string[];
  /** Whether that makes a user namespace, which an ordinary user needs for the others. */
  readonly withUserNamespace: boolean;
  /** Whether a process that only makes mounts of its own, and that user namespace, would do as well. */
  readonly needsOnlyMounts?: boolean;
  readonly tools: { readonly bash: string; readonly mount: string };
  readonly user: SandboxUser;
  readonly diskMb: number;
  /** A folder that exists, from {@link mountPoint}. */
  readonly mount: string;
  /** What else is to be mounted. */
  readonly steps: readonly LaunchStep[];
  /** For the first program. */
  readonly output: OutputPipes;
  /** Whether the first program is given its input as it comes, or by this descriptor; otherwise it has none, or a file. */
  readonly stdin?: 'stream' | number;
}

const MOUNT_POINTS = ['/mnt', '/srv', '/media', '/opt', '/var', '/tmp', '/home'];

/** One inode for each so many bytes; bounds what many empty files cost in kernel memory. */
const BYTES_PER_INODE = 4096;

const DEADLINE_MS = 10_000;

/** Where the process that made the stage finds the orders for the first program. */
const FIRST_ORDERS = 'orders-first';

/** How many files and folders a disk of this size may hold. */
export function inodesFor(diskMb: number): number {
  return Math.max(1024, Math.ceil((diskMb * 1024 * 1024) / BYTES_PER_INODE));
}

/** Makes a stage. Throws `SANDBOX_FAILED` with the reason when this host does not let us. */
export async function createStage(spec: StageSpec): Promise<Stage> {
  const { enter, withUserNamespace, tools, user, diskMb, mount, steps, output } = spec;
  const options = `size=${Math.ceil(diskMb * 1024)}k,nr_inodes=${inodesFor(diskMb)},mode=0755,nosuid,nodev`;
  const memory: LaunchStep = { mountMemory: mount, options, with: tools.mount };
  const launcher = Launcher.start({
    bash: tools.bash,
    enter,
    ...(spec.needsOnlyMounts ? { makes: withUserNamespace ? 'user and mounts' : 'mounts' } : {}),
    steps: [memory, ...steps],
    orders: `${mount}/${FIRST_ORDERS}`,
    cwd: '/',
    environment: LAUNCHER_ENVIRONMENT,
    stdin: spec.stdin,
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
    const pid = await launcher.started();
    folder = Folder.open(`/proc/${pid}/root${mount}`);
    const openNamespace = (name: string): number => {
      const descriptor = openSync(`/proc/${pid}/ns/${name}`, 'r');
      opened.push(descriptor);
      return descriptor;
    };
    const stage: Stage = {
      mount,
      folder,
      mountNamespace: openNamespace('mnt'),
      ...(withUserNamespace ? { userNamespace: openNamespace('user') } : {}),
      user,
      first: { launcher, status, orders: FIRST_ORDERS, stdin: spec.stdin },
      close: closeOnce(folder, opened),
    };
    makeWritable(stage);
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

/** A folder that exists and that none of these lives in or below: only the stage sees what is mounted there. */
export function mountPoint(prefixes: readonly string[]): string {
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

/** Makes the folders that programs may write to. */
function makeWritable(stage: Stage): void {
  const owner = ownerOtherThanUs(stage.user);
  for (const name of Object.keys(WRITABLE)) {
    mkdirSync(stage.folder.entry(name));
    const made = stage.folder.enter(name);
    try {
      made.chmod(name === 'workspace' ? 0o755 : 0o1777);
      if (owner) made.chown(owner.uid, owner.gid);
    } finally {
      made.close();
    }
  }
}

function closeOnce(folder: Folder, descriptors: readonly number[]): () => void {
  let open = true;
  return () => {
    if (!open) return;
    open = false;
    folder.close();
    // Not waited for: the last one of a mount namespace takes the kernel milliseconds, and nobody can reach it any more.
    for (const descriptor of descriptors) close(descriptor);
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
