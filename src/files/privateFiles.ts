/** Folders and files of this host that only one user may touch: what is in them is believed because nobody else could write it. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { SandboxError } from '../errors.ts';
import { makeFolders } from './makeFolders.ts';

/** Makes the folder where it is missing. Throws `CONFIG_INVALID` when it is not this user's alone. */
export function makePrivateFolder(path: string, hint = HINT): void {
  try {
    makeFolders(path, 0o700);
  } catch (error) {
    // Something else is there: what it is, is said below.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw unusable(path, (error as Error).message, hint);
  }
  if (!isPrivateFolder(path, hint)) throw unusable(path, 'it was removed just now', hint);
}

/** Whether the folder is there. Throws `CONFIG_INVALID` when it is not this user's alone. */
export function isPrivateFolder(path: string, hint = HINT): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return false;
  const reason = whyNotPrivate(found, statSync(dirname(path)), userId());
  if (reason !== undefined) throw unusable(path, reason, hint);
  return true;
}

type Looked = Pick<Stats, 'uid' | 'mode' | 'isDirectory' | 'isSymbolicLink'>;

/** Why somebody else could put something of his own there; undefined where nobody can. Pure. */
export function whyNotPrivate(folder: Looked, parent: Looked, user: number): string | undefined {
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

/** What was found under a name: the text, nothing, or something that must not be believed. */
export type PrivateFile =
  | { readonly found: 'text'; readonly text: string }
  | { readonly found: 'nothing' }
  | { readonly found: 'unusable'; readonly reason: string };

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Reads a file that this user alone can have written, up to a size. Throws for nothing that may lie there. */
export function readPrivateFile(path: string, maxBytes: number): PrivateFile {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const reason = whyNotBelieved(fstatSync(descriptor), maxBytes, userId());
    if (reason !== undefined) return { found: 'unusable', reason };
    return { found: 'text', text: readFileSync(descriptor, 'utf8') };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { found: 'nothing' };
    return { found: 'unusable', reason: code === 'ELOOP' ? 'it is a link' : message };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Why what a file says must not be believed. Pure. */
export function whyNotBelieved(
  file: Pick<Stats, 'uid' | 'mode' | 'size' | 'isFile'>,
  maxBytes: number,
  user: number,
): string | undefined {
  if (!file.isFile()) return 'it is not a file';
  if (file.uid !== user) return `it belongs to the user ${file.uid}, not to ${user}`;
  if ((file.mode & 0o022) !== 0)
    return `others may write it: its mode is ${(file.mode & 0o7777).toString(8)}`;
  if (file.size > maxBytes) return `it has ${file.size} bytes, more than ${maxBytes}`;
  return undefined;
}

/** Puts a file under a name, whole: whoever reads it sees what was there before, or all of it. */
export function writePrivateFile(path: string, text: string): void {
  const part = partOf(path);
  try {
    writeNew(part, text);
    renameSync(part, path);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

/** The name of a part that a process which died has left, as `writePrivateFile` makes them. */
export const PART = /\.part-[0-9a-f]{16}$/;

/** A name beside it that is not taken. */
export function partOf(path: string): string {
  return join(dirname(path), `${basename(path)}.part-${randomBytes(8).toString('hex')}`);
}

/** Makes a file that is not there, and waits until the disk has it; only its owner may read it. */
export function writeNew(path: string, text: string): void {
  const descriptor = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Waits until the disk has the names that were made, changed and removed in a folder. */
export function syncFolder(path: string): void {
  const descriptor = openSync(path, O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function userId(): number {
  return process.getuid?.() ?? 0;
}

const HINT = 'Make it a folder of your own that others may not use (chmod 700), or name another one.';

function unusable(path: string, reason: string, hint: string): SandboxError {
  return new SandboxError('CONFIG_INVALID', `The folder ${JSON.stringify(path)} cannot be used: ${reason}.`, {
    hint,
    details: { path },
  });
}
