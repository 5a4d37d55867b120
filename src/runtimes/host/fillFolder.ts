import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  lchownSync,
  mkdirSync,
  openSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { AcceptedEntry } from '../../archive/acceptEntries.ts';
import type { LeftOut } from '../../archive/entry.ts';
import type { Folder } from './folder.ts';

export interface FillOptions {
  /** Whom new files and folders belong to, where that is not us. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  /** What is there already stays, and is told; without it, files are replaced. */
  readonly onExisting?: (leftOut: LeftOut) => void;
  /** Told of each part of a file that was written. */
  readonly onBytes?: (bytes: number) => void;
  readonly onFile?: () => void;
  /** The error that a caller gets for one of the system. */
  readonly explain: (error: unknown, path: string) => unknown;
}

export interface Filled {
  readonly files: number;
  readonly folders: number;
  readonly bytes: number;
}

const SMALL_BYTES = 64 * 1024;

const TURN_MS = 5;

/**
 * Writes entries into a folder, one component of a name at a time from descriptors: whatever is there, or comes to be
 * there meanwhile, no link is followed. Files take their place when they are whole; of a mode, only whether the file
 * is a program is kept.
 */
export async function fillFolder(
  top: Folder,
  entries: AsyncIterable<AcceptedEntry>,
  options: FillOptions,
): Promise<Filled> {
  const filler = new Filler(top, options);
  let turnEnds = performance.now() + TURN_MS;
  try {
    for await (const entry of entries) {
      try {
        await filler.take(entry);
      } catch (error) {
        throw options.explain(error, entry.path);
      }
      if (performance.now() < turnEnds) continue;
      await nextTurn();
      turnEnds = performance.now() + TURN_MS;
    }
  } finally {
    filler.close();
  }
  return filler;
}

class Filler implements Filled {
  files = 0;
  folders = 0;
  bytes = 0;
  readonly #top: Folder;
  readonly #options: FillOptions;
  readonly #temporary = Buffer.from(`.glovebox-${randomUUID()}`);
  /** The folders on the way to the last entry; most entries are beside the one before. */
  #way: { readonly name: Buffer; readonly folder: Folder }[] = [];

  constructor(top: Folder, options: FillOptions) {
    this.#top = top;
    this.#options = options;
  }

  async take({ components, path, type, target, executable, content }: AcceptedEntry): Promise<void> {
    if (type === 'directory') {
      this.#enter(components);
      if (components.length > 0) this.folders++;
      return;
    }
    const parent = this.#enter(components.slice(0, -1));
    const name = components.at(-1) ?? Buffer.alloc(0);
    const { onExisting, onFile } = this.#options;
    const place = parent.rawEntry(onExisting === undefined ? this.#temporary : name);
    const make = type === 'symlink' ? this.#startLink(place, target) : this.#startFile(place);
    if (make === undefined) {
      onExisting?.({ path, because: 'there already' });
      return;
    }
    try {
      await make(executable, content);
      if (onExisting === undefined) renameSync(place, parent.rawEntry(name));
    } catch (error) {
      unlessAbsent(() => unlinkSync(place));
      throw error;
    }
    this.files++;
    onFile?.();
  }

  close(): void {
    for (const { folder } of this.#way) folder.close();
    this.#way = [];
  }

  #enter(components: readonly Buffer[]): Folder {
    let same = 0;
    while (same < components.length && this.#way[same]?.name.equals(components[same] as Buffer)) same++;
    for (const { folder } of this.#way.splice(same)) folder.close();
    for (const name of components.slice(same)) {
      const parent = this.#way.at(-1)?.folder ?? this.#top;
      const isNew = makeFolder(parent, name);
      const folder = parent.enter(name);
      this.#way.push({ name, folder });
      if (!isNew) continue;
      const { owner } = this.#options;
      folder.chmod(0o755);
      if (owner) folder.chown(owner.uid, owner.gid);
    }
    return this.#way.at(-1)?.folder ?? this.#top;
  }

  /** Makes the empty file and resolves to what fills it; undefined when the name is taken. */
  #startFile(
    path: Buffer,
  ): ((executable: boolean, content: AsyncIterable<Uint8Array>) => Promise<void>) | undefined {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = unlessTaken(() => openSync(path, flags, 0o600));
    if (file === undefined) return undefined;
    return async (executable, content) => {
      try {
        for await (const chunk of content) {
          for (let length = 0; length < chunk.byteLength; ) length += await writePart(file, chunk, length);
          this.bytes += chunk.byteLength;
          this.#options.onBytes?.(chunk.byteLength);
        }
        fchmodSync(file, executable ? 0o755 : 0o644);
        const { owner } = this.#options;
        if (owner) fchownSync(file, owner.uid, owner.gid);
      } finally {
        closeSync(file);
      }
    };
  }

  #startLink(path: Buffer, target: Buffer): (() => Promise<void>) | undefined {
    const made = unlessTaken(() => {
      symlinkSync(target, path);
      return true;
    });
    if (made === undefined) return undefined;
    return async () => {
      const { owner } = this.#options;
      if (owner) lchownSync(path, owner.uid, owner.gid);
    };
  }
}

/** True when it was not there. */
function makeFolder(parent: Folder, name: Buffer): boolean {
  return (
    unlessTaken(() => {
      mkdirSync(parent.rawEntry(name), 0o755);
      return true;
    }) ?? false
  );
}

function unlessTaken<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return undefined;
  }
}

const writeLarge = promisify(write) as (
  file: number,
  data: Uint8Array,
  offset: number,
) => Promise<{ bytesWritten: number }>;

/** Content may be large and goes through a thread; everything else is a matter of microseconds. */
async function writePart(file: number, data: Uint8Array, offset: number): Promise<number> {
  if (data.byteLength <= SMALL_BYTES) return writeSync(file, data, offset);
  return (await writeLarge(file, data, offset)).bytesWritten;
}

function unlessAbsent(action: () => void): void {
  try {
    action();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
