/** Whole folders into a sandbox and out of it. What comes out is hostile; what goes in is the operator's own. */
import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, posix } from 'node:path';
import { Readable } from 'node:stream';
import type { ArchiveEntry } from '../archive/entry.ts';
import { isSandboxError, SandboxError } from '../errors.ts';
import { makeFolders } from '../files/makeFolders.ts';
import type { Guest, LeftOut, TransferLimits, Unpacked } from '../runtimes/runtime.ts';

export interface TransferProgress {
  /** Of the files' content. */
  readonly bytes: number;
  /** Those that are whole. */
  readonly files: number;
  /** Where it is known ahead. */
  readonly totalBytes?: number;
}

export interface TransferOptions {
  /** Told at most every 100 ms while content is carried, and at the end. */
  readonly onProgress?: (progress: TransferProgress) => void;
  readonly signal?: AbortSignal;
  /** All files together may have so many bytes, by their apparent size; as many as the disk limit by default. */
  readonly maxBytes?: number;
  /** So many files and folders; 100,000 by default. */
  readonly maxEntries?: number;
}

export interface DownloadOptions extends TransferOptions {
  /** Replaces files that are there; without it they stay, and are told among what was skipped. */
  readonly overwrite?: boolean;
}

export interface UploadOptions extends TransferOptions {
  /** Symbolic links in the archive: refused by default, or made as they are written. */
  readonly links?: 'refused' | 'kept';
}

export interface UploadFromOptions extends TransferOptions {
  /** Names, such as `node_modules`, or paths below the folder, that are not carried. */
  readonly exclude?: readonly string[];
}

/** What was carried, and what was not. */
export interface Transferred {
  readonly files: number;
  /** Those that the archive names. */
  readonly folders: number;
  readonly bytes: number;
  readonly skipped: readonly LeftOut[];
}

const MAX_ENTRIES = 100_000;

/** How often somebody is told how far it is. */
const PROGRESS_MS = 100;

/** The transfers of one sandbox, wherever it packs and unpacks them. */
export class Transfers {
  readonly #guest: Pick<Guest, 'pack' | 'unpack'>;
  readonly #maxBytes: number;

  constructor(guest: Pick<Guest, 'pack' | 'unpack'>, maxBytes: number) {
    this.#guest = guest;
    this.#maxBytes = maxBytes;
  }

  /** A folder or a file as a tar archive. Whoever does not read it to its end destroys it. */
  async download(path: string, options: Omit<TransferOptions, 'onProgress'> = {}): Promise<Readable> {
    const archive = await this.#guest.pack(path, this.#limits(options));
    return Readable.from(archive, {
      objectMode: false,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  }

  /**
   * Writes a folder's content, or a file under its own name, into a folder of the host, which is made where it is
   * missing. Nothing but files and folders is made, no link in the folder is followed, and nothing leaves it.
   */
  async downloadTo(path: string, hostFolder: string, options: DownloadOptions = {}): Promise<Transferred> {
    const { acceptEntries } = await import('../archive/acceptEntries.ts');
    const { readArchive } = await import('../archive/readArchive.ts');
    const { fillFolder } = await import('../runtimes/host/fillFolder.ts');
    const limits = this.#limits(options);
    const archive = await this.#guest.pack(path, limits);
    const skipped: LeftOut[] = [];
    const onLeftOut = (one: LeftOut): void => void skipped.push(one);
    const progress = new Progress(options.onProgress);
    try {
      using folder = await openHostFolder(hostFolder);
      const entries = acceptEntries(readArchive(archive, options.signal), {
        ...limits,
        links: false,
        onLeftOut,
      });
      const { files, folders, bytes } = await fillFolder(folder, entries, {
        ...(options.overwrite ? {} : { onExisting: onLeftOut }),
        onBytes: (count) => progress.add(count),
        onFile: () => progress.addFile(),
        explain: (error, entry) => notOnHost(error, `${hostFolder}/${entry}`),
      });
      progress.end();
      return { files, folders, bytes, skipped: [...archive.leftOut, ...skipped] };
    } finally {
      archive.destroy();
    }
  }

  /** Unpacks a tar archive into a folder of the sandbox, which is made where it is missing. */
  async upload(
    path: string,
    archive: AsyncIterable<Uint8Array>,
    options: UploadOptions = {},
  ): Promise<Unpacked> {
    const progress = new Progress(options.onProgress);
    const unpacked = await this.#guest.unpack(path, progress.counted(archive), {
      ...this.#limits(options),
      ...(options.links === undefined ? {} : { links: options.links }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    progress.end(unpacked);
    return unpacked;
  }

  /**
   * Carries the content of a folder of the host into a folder of the sandbox, or a file to this path there. Links and
   * special files are skipped, and told.
   */
  async uploadFrom(hostPath: string, path: string, options: UploadFromOptions = {}): Promise<Transferred> {
    const { writeArchive } = await import('../archive/writeArchive.ts');
    const skipped: LeftOut[] = [];
    const limits = this.#limits(options);
    const walk = await hostWalk(hostPath, path, options.exclude ?? [], limits);
    const progress = new Progress(options.onProgress, options.onProgress && (await walk.totalBytes()));
    const entries = progress.countedEntries(walk.entries((one) => skipped.push(one)));
    const unpacked = await this.#guest.unpack(walk.into, writeArchive(entries), {
      ...limits,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    progress.end(unpacked);
    return { ...unpacked, skipped };
  }

  #limits({ maxBytes = this.#maxBytes, maxEntries = MAX_ENTRIES }: TransferOptions): TransferLimits {
    return { maxBytes, maxEntries };
  }
}

/** Counts, and tells now and then. */
class Progress {
  readonly #tell: ((progress: TransferProgress) => void) | undefined;
  readonly #totalBytes: number | undefined;
  #bytes = 0;
  #files = 0;
  #next = performance.now() + PROGRESS_MS;

  constructor(tell: ((progress: TransferProgress) => void) | undefined, totalBytes?: number) {
    this.#tell = tell;
    this.#totalBytes = totalBytes;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    const now = performance.now();
    if (now < this.#next) return;
    this.#next = now + PROGRESS_MS;
    this.#report();
  }

  addFile(): void {
    this.#files++;
  }

  end(all?: { readonly files: number; readonly bytes: number }): void {
    this.#files = all?.files ?? this.#files;
    this.#bytes = all?.bytes ?? this.#bytes;
    this.#report();
  }

  async *counted(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      yield chunk;
      this.add(chunk.byteLength);
    }
  }

  async *countedEntries(entries: AsyncIterable<ArchiveEntry>): AsyncGenerator<ArchiveEntry> {
    for await (const entry of entries) {
      if (entry.content === undefined) yield entry;
      else yield { ...entry, content: this.counted(entry.content) };
      if (entry.type === 'file') this.addFile();
    }
  }

  #report(): void {
    this.#tell?.({
      bytes: this.#bytes,
      files: this.#files,
      ...(this.#totalBytes === undefined ? {} : { totalBytes: this.#totalBytes }),
    });
  }
}

/** Opens a folder of the operator's, where a link on the way is the operator's too. */
async function openHostFolder(path: string) {
  const { Folder } = await import('../runtimes/host/folder.ts');
  try {
    makeFolders(path);
    return Folder.open(realpathSync(path));
  } catch (error) {
    throw notOnHost(error, path);
  }
}

interface HostWalk {
  /** The folder of the sandbox that the entries go to. */
  readonly into: string;
  entries(onLeftOut: (leftOut: LeftOut) => void): AsyncGenerator<ArchiveEntry>;
  totalBytes(): Promise<number>;
}

async function hostWalk(
  hostPath: string,
  path: string,
  exclude: readonly string[],
  limits: TransferLimits,
): Promise<HostWalk> {
  const { walkFile, walkFolder } = await import('../runtimes/host/walkFolder.ts');
  const { Folder } = await import('../runtimes/host/folder.ts');
  const real = realOnHost(hostPath);
  const isFolder = lstatSync(real).isDirectory();
  const wanted = new Set(exclude.map((one) => posix.normalize(one).replace(/\/$/, '')));
  const isExcluded = (name: string, below: string): boolean => wanted.has(name) || wanted.has(below);
  async function* entries(
    onLeftOut: (leftOut: LeftOut) => void,
    withoutContent = false,
  ): AsyncGenerator<ArchiveEntry> {
    using folder = Folder.open(isFolder ? real : dirname(real));
    const options = { ...limits, onLeftOut, isExcluded, links: false, withoutContent };
    if (isFolder) {
      yield* walkFolder(folder, options);
      return;
    }
    for await (const entry of walkFile(folder, Buffer.from(basename(real)), options)) {
      yield { ...entry, name: Buffer.from(fileName) };
    }
  }
  const target = posix.normalize(path).replace(/\/$/, '');
  const isTop = target === '.' || target === '' || target === '/workspace';
  const fileName = isTop ? basename(real) : posix.basename(target);
  return {
    into: isFolder || isTop ? path : posix.dirname(target),
    entries,
    async totalBytes() {
      let total = 0;
      for await (const { size = 0 } of entries(() => {}, true)) total += size;
      return total;
    },
  };
}

function realOnHost(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} cannot be read on this host.`, {
      hint: 'Name a file or a folder that is there.',
      details: { path },
      cause: error,
    });
  }
}

function notOnHost(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (isSandboxError(error) || code === undefined) return error;
  const because =
    code === 'ELOOP'
      ? 'a link is in the way'
      : code === 'ENOSPC'
        ? 'there is no room'
        : (error as Error).message;
  return new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} cannot be written: ${because}.`, {
    hint: 'Name an empty folder of this host, or a new one.',
    details: { path },
    cause: error,
  });
}
