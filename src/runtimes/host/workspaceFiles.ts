import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import { SandboxError } from '../../errors.ts';
import type { FileEntry } from '../runtime.ts';
import type { Folder } from './folder.ts';
import { outside, workspaceComponents } from './workspacePath.ts';

/** How many entries a listing holds at most; a guest can make millions. */
const MAX_ENTRIES = 10_000;

export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

/** The file operations of a workspace that the host can reach, confined to it whatever the guest prepares. */
export class WorkspaceFiles {
  readonly #root: Folder;
  readonly #path: string;
  readonly #owner: FileOwner | undefined;

  /** `path` is the workspace as the program sees it; new files belong to `owner` where that is not us. */
  constructor(root: Folder, path: string, owner?: FileOwner) {
    this.#root = root;
    this.#path = path;
    this.#owner = owner;
  }

  async read(path: string, maxBytes: number): Promise<Uint8Array> {
    const components = workspaceComponents(path, this.#path);
    const name = components.pop();
    if (name === undefined) throw notRegular(path, 'a folder');
    return this.#inFolder(path, components, false, async (folder) => {
      const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      await using file = asyncDisposable(await open(folder.entry(name), flags));
      const status = await file.handle.stat();
      if (!status.isFile()) throw notRegular(path, status.isDirectory() ? 'a folder' : 'a special file');
      // One byte more than allowed tells a file that grows from one that fits.
      const bytes = Buffer.allocUnsafe(Math.min(status.size, maxBytes) + 1);
      let length = 0;
      for (;;) {
        const { bytesRead } = await file.handle.read(bytes, length, bytes.length - length, length);
        length += bytesRead;
        if (bytesRead === 0 || length === bytes.length) break;
      }
      if (length > maxBytes) throw tooLarge(path, status.size, maxBytes);
      return bytes.subarray(0, Math.min(length, status.size));
    });
  }

  async write(path: string, data: Uint8Array): Promise<void> {
    const components = workspaceComponents(path, this.#path);
    const name = components.pop();
    if (name === undefined) throw notRegular(path, 'a folder');
    await this.#inFolder(path, components, true, async (folder) => {
      const temporary = `.glovebox-${randomUUID()}`;
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
      try {
        await using file = asyncDisposable(await open(folder.entry(temporary), flags, 0o600));
        await file.handle.writeFile(data);
        await file.handle.chmod(0o644);
        if (this.#owner) await file.handle.chown(this.#owner.uid, this.#owner.gid);
        // Replaces a link or a FIFO of that name instead of going through it.
        await rename(folder.entry(temporary), folder.entry(name));
      } catch (error) {
        await unlink(folder.entry(temporary)).catch(ignoreAbsent);
        throw error;
      }
    });
  }

  async list(path: string): Promise<FileEntry[]> {
    const components = workspaceComponents(path, this.#path);
    return this.#inFolder(path, components, false, async (folder) => {
      const names = await readdir(folder.self, { encoding: 'buffer' });
      names.sort(Buffer.compare);
      const entries: FileEntry[] = [];
      for (const raw of names.slice(0, MAX_ENTRIES)) {
        const status = await lstat(folder.rawEntry(raw)).catch(ignoreAbsent);
        if (status === undefined) continue;
        const name = printableName(raw);
        entries.push({
          name,
          path: [this.#path, ...components, name].join('/'),
          type: status.isFile()
            ? 'file'
            : status.isDirectory()
              ? 'directory'
              : status.isSymbolicLink()
                ? 'symlink'
                : 'other',
          size: status.size,
          modifiedAt: new Date(status.mtimeMs).toISOString(),
        });
      }
      return entries;
    });
  }

  /** Walks to the folder, one descriptor at a time, and closes them all after `use`. */
  async #inFolder<T>(
    path: string,
    components: readonly string[],
    create: boolean,
    use: (folder: Folder) => Promise<T>,
  ): Promise<T> {
    const opened: Folder[] = [];
    let current = this.#root;
    try {
      for (const component of components) {
        if (create) await this.#makeFolder(current, component);
        current = await current.enter(component);
        opened.push(current);
      }
      return await use(current);
    } catch (error) {
      throw await explain(error, path, current);
    } finally {
      for (const folder of opened) await folder.close();
    }
  }

  async #makeFolder(parent: Folder, name: string): Promise<void> {
    try {
      await mkdir(parent.entry(name), 0o755);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
      throw error;
    }
    if (!this.#owner) return;
    const made = await parent.enter(name);
    try {
      await made.chown(this.#owner.uid, this.#owner.gid);
    } finally {
      await made.close();
    }
  }
}

/** A name as text; bytes that are not UTF-8 are shown as `\xNN`, so that no two names look alike. */
export function printableName(raw: Buffer): string {
  const text = raw.toString('utf8');
  if (!text.includes('\uFFFD')) return text;
  return Array.from(raw, (byte) =>
    byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('');
}

async function explain(error: unknown, path: string, folder: Folder): Promise<unknown> {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return new SandboxError('FILE_NOT_FOUND', `There is no ${JSON.stringify(path)} in the workspace.`, {
        hint: 'List the folder to see what is there.',
        details: { path },
        cause: error,
      });
    case 'ELOOP':
      return outside(path);
    case 'ENOTDIR':
      return (await leadsThroughLink(error, folder)) ? outside(path) : notRegular(path, 'below a file');
    case 'EISDIR':
      return notRegular(path, 'a folder');
    case 'ENXIO':
    case 'ENODEV':
      return notRegular(path, 'a special file');
    case 'EACCES':
    case 'EPERM':
      return new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} may not be opened.`, {
        hint: 'The program took its permissions away; let it set them back.',
        details: { path },
        cause: error,
      });
    case 'ENOSPC':
    case 'EDQUOT':
      return new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} does not fit into the workspace.`, {
        hint: 'Ask for a larger disk with diskMb (SANDBOX_DISK_MB), or remove files.',
        details: { path },
        cause: error,
      });
    case 'ENAMETOOLONG':
      return new SandboxError('INPUT_INVALID', 'A component of the path is too long.', {
        hint: 'Use names of at most 255 bytes.',
        cause: error,
      });
    default:
      return error;
  }
}

async function leadsThroughLink(error: unknown, folder: Folder): Promise<boolean> {
  const name = (error as NodeJS.ErrnoException).path?.split('/').at(-1);
  if (name === undefined) return false;
  const status = await lstat(folder.entry(name)).catch(ignoreAbsent);
  return status?.isSymbolicLink() ?? false;
}

function notRegular(path: string, what: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} is ${what}, not a regular file.`, {
    hint: 'Only regular files can be read and written.',
    details: { path },
  });
}

function tooLarge(path: string, size: number, maxBytes: number): SandboxError {
  return new SandboxError(
    'INPUT_INVALID',
    `${JSON.stringify(path)} has ${size} bytes; at most ${maxBytes} can be read.`,
    { hint: 'Let the program write a smaller file, or split it.', details: { path, size, maxBytes } },
  );
}

/** For a file that vanished between two steps: the guest may remove what it likes. */
function ignoreAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
  return undefined;
}

function asyncDisposable<T extends { close(): Promise<void> }>(handle: T): AsyncDisposable & { handle: T } {
  return { handle, [Symbol.asyncDispose]: () => handle.close() };
}
