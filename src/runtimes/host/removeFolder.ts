import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { unlink } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { changesAllTheTime } from './fileRefusals.ts';
import { Folder } from './folder.ts';
import { eachName } from './listing.ts';

const ENTRIES_PER_TURN = 64;
const LARGE_BYTES = 16 * 1024 * 1024;

/** How long a program may keep filling a folder while it is removed. */
const DEADLINE_MS = 20_000;

/**
 * Removes a folder of a folder with everything in it: any mode, any name, any depth, and links are removed, not
 * followed. Somebody may be changing it meanwhile; who does so without end is told of.
 */
export async function removeFolder(
  parent: Folder,
  name: Buffer,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  const assertInTime = (): void => {
    signal.throwIfAborted();
    if (performance.now() > deadline) throw changesAllTheTime(path);
  };
  const place = parent.rawEntry(name);
  for (;;) {
    const folder = openAnyMode(place);
    if (folder === undefined) return;
    if (folder !== 'changed') {
      try {
        await emptyFolder(folder, assertInTime);
      } finally {
        folder.close();
      }
    }
    if (removed(place)) return;
    assertInTime();
  }
}

/**
 * Empties a folder. A nested folder is first moved up to the top, so that neither the length of a path nor the number
 * of open descriptors grows with the depth of the tree. What somebody puts there meanwhile may still be there then.
 *
 * Only a large file is removed on a thread of libuv's, where the kernel may take its time: for the few small
 * things that most runs leave, the way there and back takes longer. Whoever else has work gets a turn between.
 */
export async function emptyFolder(top: Folder, assertInTime: () => void = () => {}): Promise<void> {
  const prefix = `.${randomUUID()}-`;
  let moved = 0;
  let seen = 0;
  const pending: Buffer[] = [];
  const empty = async (folder: Folder): Promise<void> => {
    for (const name of eachName(folder)) {
      if (++seen % ENTRIES_PER_TURN === 0) {
        await nextTurn();
        assertInTime();
      }
      const entry = folder.rawEntry(name);
      const status = lstatSync(entry, { throwIfNoEntry: false });
      if (status === undefined) continue;
      if (status.isDirectory()) {
        // It is in the list already.
        if (folder === top && name.toString('latin1').startsWith(prefix)) continue;
        const flat = Buffer.from(`${prefix}${moved++}`);
        // Where something else is mounted, the kernel refuses this, and nothing of it is removed.
        if (unlessChanged(() => moveFolder(entry, top.rawEntry(flat)))) pending.push(flat);
      } else if (status.size > LARGE_BYTES) {
        await unlink(entry).catch(unlessRaced);
      } else {
        unlessChanged(() => unlinkSync(entry));
      }
    }
  };
  top.chmod(0o700);
  await empty(top);
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    assertInTime();
    const folder = openAnyMode(top.rawEntry(name));
    if (folder === undefined || folder === 'changed') continue;
    try {
      folder.chmod(0o700);
      await empty(folder);
    } finally {
      folder.close();
    }
    const place = top.rawEntry(name);
    unlessChanged(() => rmdirSync(place));
  }
}

/** True when what is there was no folder and is gone now. Throws ENOENT where there is nothing. */
export function unlinked(path: Buffer): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch (error) {
    // POSIX says EPERM for a folder, Linux EISDIR.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EISDIR') return false;
    if (code === 'EPERM' && lstatSync(path).isDirectory()) return false;
    throw error;
  }
}

/** True when nothing is there any more. */
function removed(path: Buffer): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return true;
    if (code === 'ENOTDIR') return unlessChanged(() => unlinkSync(path)) !== undefined;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
    return false;
  }
}

/**
 * Opens a folder, and opens it to us first where its owner, who is us then, may not enter it. The mode is changed by
 * descriptor: by name, a link that has taken the folder's place would lead to another one.
 */
export function openAnyMode(path: Buffer | string): Folder | 'changed' | undefined {
  try {
    return Folder.open(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code === 'ENOTDIR' || code === 'ELOOP') return 'changed';
    if (code !== 'EACCES') throw error;
  }
  openMode(path);
  return Folder.open(path);
}

/** A descriptor that only names a file, which needs no permission (open(2), Linux). */
const O_PATH = 0o10000000;

function openMode(path: Buffer | string): void {
  if (process.platform !== 'linux') {
    chmodSync(path, 0o700);
    return;
  }
  const named = openSync(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    chmodSync(`/proc/self/fd/${named}`, 0o700);
  } finally {
    closeSync(named);
  }
}

/** To move a folder, one must be allowed to write in it; root always is. */
function moveFolder(from: Buffer, to: Buffer): void {
  if (process.getuid?.() !== 0) openMode(from);
  renameSync(from, to);
}

/** True unless somebody else was faster. */
function unlessChanged(action: () => void): boolean {
  try {
    action();
    return true;
  } catch (error) {
    unlessRaced(error);
    return false;
  }
}

const RACES = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENOTEMPTY', 'EEXIST'];

function unlessRaced(error: unknown): void {
  if (!RACES.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
}
