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
  readdirSync,
  renameSync,
  type Stats,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { SandboxError } from '../../errors.ts';
import type { FileEntry } from '../runtime.ts';
import { closedToUs, MAX_ENTRIES, missing, notRegular, tooFull, tooLarge } from './fileRefusals.ts';
import type { Folder } from './folder.ts';
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
        folder.entry(name),
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
    // The program may have closed its own workspace to itself, and so to us where we are the same user.
    if (this.#owner === undefined) this.#root.chmod(0o755);
    await this.#inFolder(path, parents, true, async (folder) => {
      const temporary = `.glovebox-${randomUUID()}`;
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
      const file = openSync(folder.entry(temporary), flags, 0o600);
      try {
        for (let length = 0; length < data.byteLength; ) length += await writePart(file, data, length);
        fchmodSync(file, 0o644);
        if (this.#owner) fchownSync(file, this.#owner.uid, this.#owner.gid);
        // Replaces a link or a FIFO of that name instead of going through it.
        renameSync(folder.entry(temporary), folder.entry(name));
      } catch (error) {
        unlessAbsent(() => unlinkSync(folder.entry(temporary)));
        throw error;
      } finally {
        closeSync(file);
      }
    });
  }

  async list(path: string): Promise<FileEntry[]> {
    const components = workspaceComponents(path, this.#path);
    return this.#inFolder(path, components, false, async (folder) => {
      const names = readdirSync(folder.self, { encoding: 'buffer' }).sort(Buffer.compare);
      return names.slice(0, MAX_ENTRIES).flatMap((raw): FileEntry[] => {
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

  #split(path: string): { parents: readonly string[]; name: string } {
    const parents = workspaceComponents(path, this.#path);
    const name = parents.pop();
    if (name === undefined) throw notRegular(path, 'a folder');
    return { parents, name };
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
        if (create) this.#makeFolder(current, component);
        current = current.enter(component);
        opened.push(current);
      }
      return await use(current);
    } catch (error) {
      throw explain(error, path, current);
    } finally {
      for (const folder of opened) folder.close();
    }
  }

  #makeFolder(parent: Folder, name: string): void {
    try {
      mkdirSync(parent.entry(name), 0o755);
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

/** A name as text; bytes that are not UTF-8 are shown as `\xNN`, and so is a backslash that would look like one. */
export function printableName(raw: Buffer): string {
  const text = raw.toString('utf8');
  const isText = Buffer.from(text).equals(raw);
  if (isText && !/\\x[0-9a-f]{2}/.test(text)) return text;
  if (isText) return text.replaceAll('\\', '\\x5c');
  return Array.from(raw, (byte) =>
    byte < 0x80 && byte !== 0x5c ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('');
}

function explain(error: unknown, path: string, folder: Folder): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return missing(path, error);
    case 'ELOOP':
      return outside(path);
    case 'ENOTDIR':
      return leadsThroughLink(error, folder) ? outside(path) : notRegular(path, 'below a file');
    case 'EISDIR':
      return notRegular(path, 'a folder');
    case 'ENXIO':
    case 'ENODEV':
      return notRegular(path, 'a special file');
    case 'EACCES':
    case 'EPERM':
      return closedToUs(path, error);
    case 'ENOSPC':
    case 'EDQUOT':
      return tooFull(path, error);
    case 'ENAMETOOLONG':
      return new SandboxError('INPUT_INVALID', 'A component of the path is too long.', {
        hint: 'Use names of at most 255 bytes.',
        cause: error,
      });
    default:
      return error;
  }
}

function leadsThroughLink(error: unknown, folder: Folder): boolean {
  const name = (error as NodeJS.ErrnoException).path?.split('/').at(-1);
  if (name === undefined) return false;
  return unlessAbsent(() => lstatSync(folder.entry(name)))?.isSymbolicLink() ?? false;
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
