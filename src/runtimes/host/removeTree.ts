import { randomUUID } from 'node:crypto';
import { chmod, lstat, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { Folder } from './folder.ts';

/**
 * Removes a folder with everything in it: any mode, any name, any depth, and links are removed, not
 * followed. Nothing may be changing it meanwhile. A nested folder is first moved up to the top, so that
 * neither the length of a path nor the number of open descriptors grows with the depth of the tree.
 */
export async function removeTree(path: string): Promise<void> {
  const status = await lstat(path).catch(absent);
  if (status === undefined) return;
  if (!status.isDirectory()) return unlink(path);
  await chmod(path, 0o700);
  const top = Folder.open(path);
  try {
    const prefix = `.${randomUUID()}-`;
    let moved = 0;
    const pending: Buffer[] = [];
    const empty = async (folder: Folder): Promise<void> => {
      for (const name of await readdir(folder.self, { encoding: 'buffer' })) {
        const entry = folder.rawEntry(name);
        if (!(await lstat(entry)).isDirectory()) {
          await unlink(entry);
          continue;
        }
        // To move a folder one must be allowed to write in it.
        await chmod(entry, 0o700);
        const flat = Buffer.from(`${prefix}${moved++}`);
        await rename(entry, top.rawEntry(flat));
        pending.push(flat);
      }
    };
    await empty(top);
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      const folder = top.enter(name.toString());
      try {
        await empty(folder);
      } finally {
        folder.close();
      }
      await rmdir(top.rawEntry(name));
    }
  } finally {
    top.close();
  }
  await rmdir(path);
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
}
