import { randomUUID } from 'node:crypto';
import { chmodSync, lstatSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Folder } from './folder.ts';

const ENTRIES_PER_TURN = 64;
const LARGE_BYTES = 16 * 1024 * 1024;

/**
 * Removes a folder with everything in it: any mode, any name, any depth, and links are removed, not
 * followed. Nothing may be changing it meanwhile. A nested folder is first moved up to the top, so that
 * neither the length of a path nor the number of open descriptors grows with the depth of the tree.
 *
 * Only a large file is removed on a thread of libuv's, where the kernel may take its time: for the few small
 * things that most runs leave, the way there and back takes longer. Whoever else has work gets a turn between.
 */
export async function removeTree(path: string): Promise<void> {
  const top = openFolder(path);
  if (top === undefined) return;
  const prefix = `.${randomUUID()}-`;
  let moved = 0;
  let seen = 0;
  const pending: string[] = [];
  const empty = async (folder: Folder): Promise<void> => {
    for (const name of readdirSync(folder.self, { encoding: 'buffer' })) {
      if (++seen % ENTRIES_PER_TURN === 0) await nextTurn();
      const entry = folder.rawEntry(name);
      const status = lstatSync(entry);
      if (!status.isDirectory()) {
        if (status.size > LARGE_BYTES) await unlink(entry);
        else unlinkSync(entry);
        continue;
      }
      const flat = `${prefix}${moved++}`;
      moveFolder(entry, top.entry(flat));
      pending.push(flat);
    }
  };
  try {
    top.chmod(0o700);
    await empty(top);
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      const folder = top.enter(name);
      try {
        await empty(folder);
      } finally {
        folder.close();
      }
      rmdirSync(top.entry(name));
    }
  } finally {
    top.close();
  }
  rmdirSync(path);
}

function openFolder(path: string): Folder | undefined {
  try {
    return Folder.open(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== 'EACCES') throw error;
    // Ours, and closed to ourselves; root never comes here, so no link can lead to a file of somebody else.
    chmodSync(path, 0o700);
    return Folder.open(path);
  }
}

/**
 * To move a folder, and to empty it then, one must be allowed to write in it. Root always is, and must not
 * change a mode by name: a link may have taken the folder's place.
 */
function moveFolder(from: Buffer, to: string): void {
  if (process.getuid?.() !== 0) chmodSync(from, 0o700);
  renameSync(from, to);
}
