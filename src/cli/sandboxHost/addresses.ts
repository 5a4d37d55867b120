/** The names that background processes have in their folder, and which of them somebody listens at. */
import { closeSync, lstatSync, openSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { SandboxError } from '../../errors.ts';
import { namesIn } from '../../files/namesIn.ts';

/** Where the process for these surroundings listens. */
export function socketOf(folder: string, surroundings: string): string {
  return short(join(folder, `${surroundings}.sock`));
}

/** Where it is told what goes on. */
export function logOf(folder: string, surroundings: string): string {
  return join(folder, `${surroundings}.log`);
}

/** Where one listens until the name is its own. */
export function newSocketOf(folder: string, surroundings: string, pid: number): string {
  return short(join(folder, `${surroundings}.${pid}`));
}

const SOCKET = /^([0-9a-f]{16})\.sock$/;
const NEW_SOCKET = /^[0-9a-f]{16}\.(\d+)$/;

/** The surroundings that there is a socket for, whether somebody listens at it or not. */
export function surroundingsIn(folder: string): string[] {
  return namesIn(folder).flatMap((name) => SOCKET.exec(name)?.[1] ?? []);
}

/** Whether somebody listens there. Nobody ever will again at a socket whose process is gone. */
export function answers(socket: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const connection = connect(socket);
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      // EAGAIN: so many wait there that nobody else may.
      else if (error.code === 'EAGAIN') resolve(true);
      else reject(error);
    });
  });
}

/** Removes what killed processes left in the folder; resolves to how many of them there were. */
export async function sweepFolder(folder: string): Promise<number> {
  let count = 0;
  for (const surroundings of surroundingsIn(folder)) {
    if (!(await removeDead(socketOf(folder, surroundings)))) continue;
    removeIfThere(logOf(folder, surroundings));
    count++;
  }
  for (const name of namesIn(folder)) {
    const pid = Number(NEW_SOCKET.exec(name)?.[1] ?? 0);
    if (pid > 0 && !isProcess(pid)) removeIfThere(join(folder, name));
  }
  return count;
}

/**
 * Removes a socket that nobody listens at; resolves to whether it did. Between looking and removing somebody may
 * have put a new one there. So only who holds the right to remove this very one, by its number, looks again and
 * removes it: then it cannot have been replaced, because nobody else may remove it.
 */
export async function removeDead(socket: string): Promise<boolean> {
  const before = identityOf(socket);
  if (before === undefined || (await answers(socket))) return false;
  const right = `${socket}.${before.replace(':', '-')}`;
  if (!take(right)) return false;
  try {
    if (identityOf(socket) !== before) return false;
    unlinkSync(socket);
    return true;
  } finally {
    removeIfThere(right);
  }
}

/** The right is held for a few calls of the system and no waiting: one so old was left by a process that was killed. */
const ABANDONED_MS = 10_000;

function take(right: string): boolean {
  try {
    closeSync(openSync(right, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const since = lstatSync(right, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > ABANDONED_MS) removeIfThere(right);
    return false;
  }
}

/** The inode number alone may be used again. */
function identityOf(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? undefined : `${found.ino}:${found.ctimeNs}`;
}

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** What the kernels that we run on take as the address of a socket, with the zero behind it. */
const MAX_ADDRESS_BYTES = process.platform === 'linux' ? 108 : 104;

function short(path: string): string {
  if (Buffer.byteLength(path) < MAX_ADDRESS_BYTES) return path;
  throw new SandboxError('CONFIG_INVALID', `The path ${JSON.stringify(path)} is too long for a socket.`, {
    hint: 'Name a folder with a shorter path with XDG_RUNTIME_DIR.',
    details: { path },
  });
}
