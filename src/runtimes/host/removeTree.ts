import { rmdirSync } from 'node:fs';
import { emptyFolder, openAnyMode } from './removeFolder.ts';

/**
 * Removes a folder with everything in it: any mode, any name, any depth, and links are removed, not
 * followed. Nothing may be changing it meanwhile.
 */
export async function removeTree(path: string): Promise<void> {
  const top = openAnyMode(path);
  if (top === undefined) return;
  if (top === 'changed') throw new Error(`${path} is no folder`);
  try {
    await emptyFolder(top);
  } finally {
    top.close();
  }
  rmdirSync(path);
}
