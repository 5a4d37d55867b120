/**
 * The stage: a mount namespace of our own in which the sandbox's file system exists. No process keeps it
 * alive, only descriptors of ours: when they close, or when we are killed, the kernel frees all of it, and
 * nothing was ever visible on the host. Each program of the sandbox is started from inside it.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, lstatSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { SandboxError } from '../../errors.ts';
import { Folder } from '../host/folder.ts';
import { isBelow } from '../host/interpreters.ts';
import { NOTHING, STAND_INS, WRITABLE } from './arguments.ts';
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
  close(): void;
}

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
}

/** A constant text: mounts the file system, then what could not be reached, and waits to be let go. */
const SCRIPT = `
root=$1 options=$2 mount=$3; shift 3
"$mount" -t tmpfs -o "$options" glovebox "$root" || exit 1
number=0
for prefix; do
  mkdir -p "$root/prefixes/$number" || exit 1
  "$mount" --bind "$prefix" "$root/prefixes/$number" || exit 1
  number=$((number + 1))
done
echo ready
read -r _
`;

/** Where the file system can be mounted: anywhere that exists, since only the stage sees it. */
const MOUNT_POINTS = ['/mnt', '/srv', '/media', '/opt', '/var', '/tmp', '/home'];

/** One inode for each so many bytes; bounds what many empty files cost in kernel memory. */
const BYTES_PER_INODE = 4096;

/** User ids that no account has: each sandbox of root's gets one of its own (2^24 from here). */
const FIRST_SANDBOX_UID = 0x60000000;

const DEADLINE_MS = 10_000;

/** Makes a stage. Throws `SANDBOX_FAILED` with the reason when this host does not let us. */
export async function createStage({ tools, user, diskMb, prefixes }: StageSpec): Promise<Stage> {
  const asRoot = process.getuid?.() === 0;
  const mount = mountPoint(prefixes);
  const toBind = asRoot ? prefixes.filter((prefix) => !isReachableByOthers(prefix)) : [];
  const inodes = Math.max(1024, Math.ceil((diskMb * 1024 * 1024) / BYTES_PER_INODE));
  const options = `size=${Math.ceil(diskMb * 1024)}k,nr_inodes=${inodes},mode=0755,nosuid,nodev`;
  const helper = spawn(
    tools.unshare,
    [
      ...(asRoot ? [] : ['--user', '--map-root-user']),
      ...['--mount', '--propagation', 'private'],
      ...[tools.sh, '-c', SCRIPT, 'glovebox-stage', mount, options, tools.mount, ...toBind],
    ],
    // A group of its own: Ctrl-C is for us, who then end the run in good order.
    { env: { PATH: '/usr/bin:/bin' }, cwd: '/', detached: true, stdio: ['pipe', 'pipe', 'pipe'] },
  );
  // EPIPE: it ended before it was let go; what it said tells why.
  helper.stdin.on('error', () => {});
  const ended = new Promise<void>((resolve) => helper.once('close', () => resolve()));
  const complaint = text(helper.stderr);
  const timer = setTimeout(() => helper.kill('SIGKILL'), DEADLINE_MS);
  const opened: number[] = [];
  let folder: Folder | undefined;
  try {
    // A helper that ends early closes its output, which is the answer too.
    const answer = await firstChunk(helper.stdout, helper);
    if (answer !== 'ready\n') throw stageFailed(await complaint);
    folder = Folder.open(`/proc/${helper.pid}/root${mount}`);
    const openNamespace = (name: string): number => {
      const descriptor = openSync(`/proc/${helper.pid}/ns/${name}`, 'r');
      opened.push(descriptor);
      return descriptor;
    };
    const stage: Stage = {
      mount,
      folder,
      mountNamespace: openNamespace('mnt'),
      ...(asRoot ? {} : { userNamespace: openNamespace('user') }),
      user,
      bound: new Map(toBind.map((prefix, number) => [prefix, `${mount}/prefixes/${number}`])),
      close: closeOnce(folder, opened),
    };
    furnish(stage, asRoot);
    return stage;
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor);
    folder?.close();
    throw error;
  } finally {
    clearTimeout(timer);
    helper.stdin.end();
    await ended;
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

function firstChunk(stream: NodeJS.ReadableStream, helper: NodeJS.EventEmitter): Promise<string> {
  return new Promise((resolve, reject) => {
    stream.once('data', (chunk) => resolve(String(chunk)));
    stream.once('end', () => resolve(''));
    helper.once('error', reject);
  });
}

function stageFailed(complaint: string): SandboxError {
  return new SandboxError(
    'SANDBOX_FAILED',
    `Namespaces cannot be made here: ${complaint.trim() || 'no reason given'}`,
    {
      hint: 'Run: glovebox doctor',
      details: { stderr: complaint.slice(0, 2000) },
    },
  );
}
