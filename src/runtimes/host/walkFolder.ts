import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  read,
  readlinkSync,
  readSync,
  type Stats,
} from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { tooMany, tooMuch } from '../../archive/acceptEntries.ts';
import {
  type ArchiveEntry,
  isTooDeep,
  type LeftOut,
  TOO_DEEP,
  type TransferLimits,
} from '../../archive/entry.ts';
import { printableName, printablePath } from '../../archive/printableName.ts';
import type { Folder } from './folder.ts';
import { namesIn } from './listing.ts';

export interface WalkOptions extends TransferLimits {
  readonly onLeftOut: (leftOut: LeftOut) => void;
  /** True for a link that becomes an entry; others are left out. */
  readonly links: boolean;
  /** True for what nobody wants, by its name and by its path below the top. */
  readonly isExcluded?: (name: string, path: string) => boolean;
  /** Looks only: files come without their content. */
  readonly withoutContent?: boolean;
}

/** What is read faster than a thread is woken. */
const SMALL_BYTES = 64 * 1024;

/** How much of a large file is read at once. */
const CHUNK_BYTES = 512 * 1024;

/** How long others wait for their turn while many small things are looked at. */
const TURN_MS = 5;

const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Everything in a folder as entries of an archive, folders before what is in them, sorted by name. Somebody may be
 * changing it meanwhile: no link is followed, nothing is waited for, and each file is as long as it was when it was
 * opened, whatever becomes of it. What vanishes meanwhile is not there; what is no file, folder or link, or cannot be
 * read, is left out and told.
 */
export async function* walkFolder(top: Folder, options: WalkOptions): AsyncGenerator<ArchiveEntry> {
  const walk = new Walk(options);
  const way: Level[] = [{ folder: top, path: Buffer.alloc(0), names: walk.namesIn(top) }];
  try {
    for (let level = way.at(-1); level !== undefined; level = way.at(-1)) {
      const name = level.names.pop();
      if (name === undefined) {
        way.pop();
        if (level.folder !== top) level.folder.close();
        continue;
      }
      await walk.turn();
      const met = walk.look(level, name, way.length);
      if (met === undefined) continue;
      if (met.folder !== undefined) way.push({ folder: met.folder, path: met.entry.name, names: [] });
      try {
        yield met.entry;
      } finally {
        met.close?.();
      }
      const entered = way.at(-1);
      if (met.folder !== undefined && entered !== undefined) entered.names = walk.namesIn(met.folder);
    }
  } finally {
    for (const { folder } of way) if (folder !== top) folder.close();
  }
}

/** The same for one entry of a folder that is no folder itself. */
export async function* walkFile(
  folder: Folder,
  name: Buffer,
  options: WalkOptions,
): AsyncGenerator<ArchiveEntry> {
  const met = new Walk(options).look({ folder, names: [], path: Buffer.alloc(0) }, name, 1);
  if (met === undefined) return;
  met.folder?.close();
  try {
    if (met.folder === undefined) yield met.entry;
  } finally {
    met.close?.();
  }
}

/** A folder on the way, and what of it is still to be looked at, the last first. */
interface Level {
  readonly folder: Folder;
  readonly path: Buffer;
  names: Buffer[];
}

interface Met {
  readonly entry: ArchiveEntry;
  /** Opened, where it is one. */
  readonly folder?: Folder;
  readonly close?: () => void;
}

class Walk {
  readonly #options: WalkOptions;
  #entries = 0;
  #bytes = 0;
  #turnEnds = performance.now() + TURN_MS;

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  /** Lets others have their turn now and then. */
  async turn(): Promise<void> {
    if (performance.now() < this.#turnEnds) return;
    await nextTurn();
    this.#turnEnds = performance.now() + TURN_MS;
  }

  /** The names in a folder, the last first. */
  namesIn(folder: Folder): Buffer[] {
    const { maxEntries } = this.#options;
    const names = namesIn(folder, maxEntries - this.#entries + 1).reverse();
    this.#entries += names.length;
    if (this.#entries > maxEntries) throw tooMany(maxEntries);
    return names;
  }

  /** What there is of this name; undefined for what is left out. */
  look({ folder: parent, path: above }: Level, name: Buffer, depth: number): Met | undefined {
    const { links, isExcluded } = this.#options;
    const path = above.length === 0 ? name : Buffer.concat([above, SLASH, name]);
    if (isExcluded?.(printableName(name), printablePath(path))) return undefined;
    const status = unlessChanged(() => lstatSync(parent.rawEntry(name)));
    if (status === undefined) return undefined;
    if (isTooDeep(depth, path.length)) return this.#leaveOut(path, TOO_DEEP);
    const about = { name: path, modifiedAt: status.mtimeMs / 1000 };
    if (status.isFile()) return this.#file(parent, name, about);
    if (status.isDirectory()) {
      const folder = opening(() => parent.enter(name));
      if (typeof folder === 'string') return this.#leaveOut(path, folder);
      return { entry: { ...about, type: 'directory' }, folder };
    }
    if (!status.isSymbolicLink()) return this.#leaveOut(path, kindOf(status));
    if (!links) return this.#leaveOut(path, 'a symbolic link');
    const target = unlessChanged(() => readlinkSync(parent.rawEntry(name), 'buffer'));
    return target && { entry: { ...about, type: 'symlink', target } };
  }

  #file(parent: Folder, name: Buffer, about: Pick<ArchiveEntry, 'name' | 'modifiedAt'>): Met | undefined {
    const file = opening(() => openSync(parent.rawEntry(name), READ_FLAGS));
    if (typeof file === 'string') return this.#leaveOut(about.name, file);
    const close = (): void => closeSync(file);
    try {
      const status = fstatSync(file);
      if (!status.isFile()) {
        close();
        return this.#leaveOut(about.name, kindOf(status));
      }
      const { size } = status;
      const { maxBytes, withoutContent } = this.#options;
      this.#bytes += size;
      if (this.#bytes > maxBytes) throw tooMuch(maxBytes, printablePath(about.name));
      const executable = (status.mode & 0o100) !== 0;
      const content = withoutContent ? [] : size <= SMALL_BYTES ? [wholeOf(file, size)] : partsOf(file, size);
      return { entry: { ...about, type: 'file', executable, size, content }, close };
    } catch (error) {
      close();
      throw error;
    }
  }

  #leaveOut(path: Buffer, because: string): undefined {
    this.#options.onLeftOut({ path: printablePath(path), because });
  }
}

const SLASH = Buffer.from('/');

function kindOf(status: Stats): string {
  if (status.isFIFO()) return 'a FIFO';
  if (status.isSocket()) return 'a socket';
  return status.isDirectory() ? 'a folder by now' : 'a device';
}

function wholeOf(file: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const count = readSync(file, bytes, length, size - length, length);
    if (count === 0) break;
    length += count;
  }
  return bytes.fill(0, length);
}

const readPart = promisify(read);

/** Exactly `size` bytes: what a file has lost meanwhile is zeros, what it has gained is not read. */
async function* partsOf(file: number, size: number): AsyncGenerator<Buffer> {
  for (let offset = 0; offset < size; ) {
    const part = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, size - offset));
    const { bytesRead } = await readPart(file, part, 0, part.length, offset);
    yield bytesRead === 0 ? part.fill(0) : part.subarray(0, bytesRead);
    offset += bytesRead === 0 ? part.length : bytesRead;
  }
}

/** What was opened, or why it is left out. */
function opening<T>(open: () => T): T | string {
  try {
    return open();
  } catch (error) {
    switch ((error as NodeJS.ErrnoException).code) {
      case 'EACCES':
      case 'EPERM':
        return 'closed by its permissions';
      // A program holds a lease on it (fcntl(2)): whoever opens it would have to wait.
      case 'EAGAIN':
        return 'held by a program';
      case 'ENOENT':
      case 'ENOTDIR':
      case 'ELOOP':
      case 'ENXIO':
      case 'ENODEV':
        return 'changed while it was read';
      default:
        throw error;
    }
  }
}

function unlessChanged<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'EINVAL') throw error;
    return undefined;
  }
}
