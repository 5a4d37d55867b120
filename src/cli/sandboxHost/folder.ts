/** The folder that background processes of one user listen in. Who can write there could listen in their place. */
import { lstatSync, mkdirSync, type Stats, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { SandboxError } from '../../errors.ts';

/** `glovebox` in the user's own runtime folder where there is one, else a name of the user's own in the temporary folder. */
export function hostFolder(runtimeFolder: string | undefined, user = userId()): string {
  const own = runtimeFolder === undefined ? undefined : ownFolder(runtimeFolder, user);
  return own === undefined ? join(tmpdir(), `glovebox-${user}`) : join(own, 'glovebox');
}

/** The specification says to ignore a relative one; another user's, as after `su`, is not for us. */
function ownFolder(path: string, user: number): string | undefined {
  if (!isAbsolute(path)) return undefined;
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() && found.uid === user ? path : undefined;
}

/** Makes the folder where it is missing. Throws `CONFIG_INVALID` when it is not this user's alone. */
export function makeHostFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(path, (error as Error).message);
  }
  if (!isHostFolder(path)) throw unusable(path, 'it was removed just now');
}

/** Whether the folder is there. Throws `CONFIG_INVALID` when it is not this user's alone. */
export function isHostFolder(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return false;
  const reason = whyNotOwn(found, statSync(dirname(path)), userId());
  if (reason !== undefined) throw unusable(path, reason);
  return true;
}

type Looked = Pick<Stats, 'uid' | 'mode' | 'isDirectory' | 'isSymbolicLink'>;

/** Why somebody else could put something of his own there; undefined where nobody can. Pure. */
export function whyNotOwn(folder: Looked, parent: Looked, user: number): string | undefined {
  if (folder.isSymbolicLink()) return 'it is a link';
  if (!folder.isDirectory()) return 'it is not a folder';
  if (folder.uid !== user) return `it belongs to the user ${folder.uid}, not to ${user}`;
  const mode = folder.mode & 0o7777;
  if ((mode & 0o077) !== 0) return `others may use it: its mode is ${mode.toString(8)}, not 700`;
  // Where names are protected, nobody but its owner can put another folder in its place.
  if ((parent.mode & STICKY) !== 0) return undefined;
  if (parent.uid !== user && parent.uid !== 0) return `the folder above it belongs to the user ${parent.uid}`;
  if ((parent.mode & 0o002) !== 0) return 'everybody may rename what is in the folder above it';
  return undefined;
}

const STICKY = 0o1000;

function userId(): number {
  return process.getuid?.() ?? 0;
}

function unusable(path: string, reason: string): SandboxError {
  return new SandboxError(
    'CONFIG_INVALID',
    `The folder ${JSON.stringify(path)} cannot hold the background process: ${reason}.`,
    {
      hint: 'Remove it, or name a folder of your own with XDG_RUNTIME_DIR.',
      details: { path },
    },
  );
}
