/** The folder that background processes of one user listen in. Who can write there could listen in their place. */
import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { isPrivateFolder, makePrivateFolder } from '../../files/privateFiles.ts';

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
  makePrivateFolder(path, HINT);
}

/** Whether the folder is there. Throws `CONFIG_INVALID` when it is not this user's alone. */
export function isHostFolder(path: string): boolean {
  return isPrivateFolder(path, HINT);
}

const HINT =
  'The background process listens in it: remove it, or name a folder of your own with XDG_RUNTIME_DIR.';

function userId(): number {
  return process.getuid?.() ?? 0;
}
