import { randomUUID } from 'node:crypto';
import { lstatSync, readdirSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { isAbandoned, ownedName } from '../host/owner.ts';
import { pipeFolder } from '../host/pipes.ts';
import { endTree } from '../host/processTree.ts';
import { removeTree } from '../host/removeTree.ts';

/** Variables that every process of a run was given; a program may still take them away from its children. */
export function marks(home: string): string[] {
  return [`HOME=${join(home, 'workspace')}`, `TMPDIR=${join(home, 'tmp')}`];
}

/**
 * Removes the folders that dead processes of ours left; resolves to how many. One that cannot be removed does not
 * keep the others, and is what this throws in the end.
 */
export async function sweepFolders(places: readonly string[] = [tmpdir(), pipeFolder()]): Promise<number> {
  const ours = [...new Set(places)]
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((path) => isAbandoned(basename(path)))
    // A name proves nothing in a folder that everybody may write to.
    .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.uid === process.getuid?.());
  let swept = 0;
  let failure: unknown;
  for (const path of ours) {
    try {
      if (await sweepFolder(path)) swept++;
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return swept;
}

/** False when another process of ours was faster. */
async function sweepFolder(path: string): Promise<boolean> {
  // Processes of a dead owner still know their folder.
  await endTree({ variables: marks(path) });
  const claimed = join(dirname(path), ownedName(`swept${randomUUID().replaceAll('-', '')}`));
  try {
    // Of all who are at it only one succeeds; should it die before the end, the folder has its name.
    renameSync(path, claimed);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  await removeTree(claimed);
  return true;
}
