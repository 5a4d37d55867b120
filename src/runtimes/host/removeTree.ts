import { randomUUID } from 'node:crypto';
import { chmod, lstat, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { Folder } from './folder.ts';

/**
 * Removes a folder with everything in it: any mode, any name, any depth, and links are removed, not
 * followed. Nothing may be changing it meanwhile. A nested folder is first moved up to the top, so that
 * neither the length of a path nor the number of open descriptors grows with the depth of the tree.
 */
export async function removeTree(path: string): Promise<void> {
  const top = await openFolder(path);
  if (top === undefined) return;
  const prefix = `.${randomUUID()}-`;
  let moved = 0;
  const pending: string[] = [];
  const empty = async (folder: Folder): Promise<void> => {
    for (const name of await readdir(folder.self, { encoding: 'buffer' })) {
      const entry = folder.rawEntry(name);
      if (!(await lstat(entry)).isDirectory()) {
        await unlink(entry);
        continue;
      }
      const flat = `${prefix}${moved++}`;
      await moveFolder(entry, top.entry(flat));
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
      await rmdir(top.entry(name));
    }
  } finally {
    top.close();
  }
  await rmdir(path);
}

async function openFolder(path: string): Promise<Folder | undefined> {
  try {
    return Folder.open(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== 'EACCES') throw error;
    // Ours, and closed to ourselves; root never comes here, so no link can lead to a file of somebody else.
    await chmod(path, 0o700);
    return Folder.open(path);
  }
}

/**
 * To move a folder, and to empty it then, one must be allowed to write in it. Root always is, and must not
 * change a mode by name: a link may have taken the folder's place.
 */
async function moveFolder(from: Buffer, to: string): Promise<void> {
  if (process.getuid?.() !== 0) await chmod(from, 0o700);
  await rename(from, to);
}
