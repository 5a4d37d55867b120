import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  read,
  renameSync,
  type Stats,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import type { TransferLimits } from '../../archive/entry.ts';
import { printableName, rawName } from '../../archive/printableName.ts';
import type { FileEntry, RemoveOptions, Unpacked, UnpackOptions } from '../runtime.ts';
import {
  closedToUs,
  missing,
  nameTooLong,
  needsRecursive,
  notRegular,
  tooFull,
  tooLarge,
} from './fileRefusals.ts';
import type { Folder } from './folder.ts';
import { namesIn } from './listing.ts';
import type { PackedFiles } from './packedFiles.ts';
import { removeFolder, unlinked } from './removeFolder.ts';
import { outside, workspaceComponents } from './workspacePath.ts';

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
    const { parents, name } = this.#split(path);
    return this.#inFolder(path, parents, false, async (folder) => {
      const file = openSync(
        folder.rawEntry(name),
        constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
      );
      try {
        const status = fstatSync(file);
        if (!status.isFile()) throw notRegular(path, status.isDirectory() ? 'a folder' : 'a special file');
        // One byte more than allowed tells a file that grows from one that fits.
        const bytes = Buffer.allocUnsafe(Math.min(status.size, maxBytes) + 1);
        let length = 0;
        for (;;) {
          const { bytesRead } = await readPart(file, bytes, length, bytes.length - length, length);
          length += bytesRead;
          if (bytesRead === 0 || length === bytes.length) break;
        }
        if (length > maxBytes) throw tooLarge(path, status.size, maxBytes);
        return bytes.subarray(0, Math.min(length, status.size));
      } finally {
        closeSync(file);
      }
    });
  }

  async write(path: string, data: Uint8Array): Promise<void> {
    const { parents, name } = this.#split(path);
    this.#openToUs();
    await this.#inFolder(path, parents, true, async (folder) => {
      const temporary = `.glovebox-${randomUUID()}`;
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
      const file = openSync(folder.entry(temporary), flags, 0o600);
      try {
        for (let length = 0; length < data.byteLength; ) length += await writePart(file, data, length);
        fchmodSync(file, 0o644);
        if (this.#owner) fchownSync(file, this.#owner.uid, this.#owner.gid);
        // Replaces a link or a FIFO of that name instead of going through it.
        renameSync(folder.entry(temporary), folder.rawEntry(name));
      } catch (error) {
        unlessAbsent(() => unlinkSync(folder.entry(temporary)));
        throw error;
      } finally {
        closeSync(file);
      }
    });
  }

  async list(path: string, maxEntries: number): Promise<FileEntry[]> {
    const components = workspaceComponents(path, this.#path);
    return this.#inFolder(path, components, false, async (folder) => {
      return namesIn(folder, maxEntries).flatMap((raw): FileEntry[] => {
        const status = unlessAbsent(() => lstatSync(folder.rawEntry(raw)));
        if (status === undefined) return [];
        const name = printableName(raw);
        return [
          {
            name,
            path: [this.#path, ...components, name].join('/'),
            type: typeOf(status),
            size: status.size,
            modifiedAt: new Date(status.mtimeMs).toISOString(),
          },
        ];
      });
    });
  }

  async remove(path: string, { recursive = false }: RemoveOptions, signal: AbortSignal): Promise<void> {
    const { parents, name } = this.#split(path);
    await this.#inFolder(path, parents, false, async (folder) => {
      if (unlinked(folder.rawEntry(name))) return;
      if (!recursive) throw needsRecursive(path);
      await removeFolder(folder, name, path, signal);
    });
  }

  async pack(path: string, limits: TransferLimits, signal: AbortSignal): Promise<PackedFiles> {
    const components = workspaceComponents(path, this.#path);
    const { packFolder, packFile } = await import('./packFiles.ts');
    signal.throwIfAborted();
    const name = components.pop();
    if (name === undefined) return packFolder(this.#root.enter('.'), limits, signal);
    return this.#inFolder(path, components, false, async (parent) => {
      const raw = rawName(name);
      const status = lstatSync(parent.rawEntry(raw));
      if (status.isDirectory()) return packFolder(parent.enter(raw), limits, signal);
      if (status.isSymbolicLink()) throw outside(path);
      if (!status.isFile()) throw notRegular(path, 'a special file');
      return packFile(parent.enter('.'), raw, limits, signal);
    });
  }

  async unpack(
    path: string,
    archive: AsyncIterable<Uint8Array>,
    options: UnpackOptions,
    signal: AbortSignal,
  ): Promise<Unpacked> {
    const components = workspaceComponents(path, this.#path);
    const { unpackInto } = await import('./packFiles.ts');
    signal.throwIfAborted();
    this.#openToUs();
    return this.#inFolder(path, components, true, (folder) =>
      unpackInto(folder, archive, options, { owner: this.#owner, explain }, signal),
    );
  }

  /** The program may have closed its own workspace to itself, and so to us where we are the same user. */
  #openToUs(): void {
    if (this.#owner === undefined) this.#root.chmod(0o755);
  }

  #split(path: string): { parents: readonly string[]; name: Buffer } {
    const parents = workspaceComponents(path, this.#path);
    const name = parents.pop();
    if (name === undefined) throw notRegular(path, 'a folder');
    return { parents, name: rawName(name) };
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
        const name = rawName(component);
        if (create) this.#makeFolder(current, name);
        current = current.enter(name);
        opened.push(current);
      }
      return await use(current);
    } catch (error) {
      throw explain(error, path);
    } finally {
      for (const folder of opened) folder.close();
    }
  }

  #makeFolder(parent: Folder, name: Buffer): void {
    try {
      mkdirSync(parent.rawEntry(name), 0o755);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
      throw error;
    }
    if (!this.#owner) return;
    const made = parent.enter(name);
    try {
      made.chown(this.#owner.uid, this.#owner.gid);
    } finally {
      made.close();
    }
  }
}

/** Content may be large and goes through a thread; everything else is a matter of microseconds. */
const readPart = promisify(read);
const writeLarge = promisify(write) as (
  file: number,
  data: Uint8Array,
  offset: number,
) => Promise<{ bytesWritten: number }>;

/** What is written faster than a thread is woken. */
const SMALL_BYTES = 64 * 1024;

async function writePart(file: number, data: Uint8Array, offset: number): Promise<number> {
  if (data.byteLength <= SMALL_BYTES) return writeSync(file, data, offset);
  return (await writeLarge(file, data, offset)).bytesWritten;
}

function typeOf(status: Stats): FileEntry['type'] {
  if (status.isFile()) return 'file';
  if (status.isDirectory()) return 'directory';
  return status.isSymbolicLink() ? 'symlink' : 'other';
}

/** The error that a caller gets for one of the system. */
function explain(error: unknown, path: string): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return missing(path, error);
    case 'ELOOP':
      return outside(path);
    case 'ENOTDIR':
      return notRegular(path, 'below a file');
    case 'EISDIR':
      return notRegular(path, 'a folder');
    case 'ENXIO':
    case 'ENODEV':
      return notRegular(path, 'a special file');
    case 'EACCES':
    case 'EPERM':
      return closedToUs(path, error);
    // A program holds a lease on it (fcntl(2)): whoever opens it would have to wait.
    case 'EAGAIN':
      return notRegular(path, 'held by a program');
    case 'ENOSPC':
    case 'EDQUOT':
      return tooFull(path, error);
    case 'ENAMETOOLONG':
      return nameTooLong(error);
    default:
      return error;
  }
}

/** For a file that vanished between two steps: the guest may remove what it likes. */
function unlessAbsent<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    return undefined;
  }
}
