/** The file operations of a workspace before its one program runs: nothing is there but what we put there. */
import { SandboxError } from '../../errors.ts';
import type { FileEntry } from '../runtime.ts';
import { missing, nameTooLong, notRegular, tooFull, tooLarge } from './fileRefusals.ts';
import type { GuestFiles } from './hostGuest.ts';
import { workspaceComponents } from './workspacePath.ts';

/** A file system in memory gives whole pages, of this size on nearly every machine. */
const PAGE_BYTES = 4096;

/** Linux, NAME_MAX. */
const MOST_NAME_BYTES = 255;

/** Files that are kept here until the program's own process takes them: only what will fit into its workspace. */
export class PendingFiles implements GuestFiles {
  readonly #files = new Map<string, Uint8Array>();
  /** How many files are in each folder, or below it. */
  readonly #folders = new Map<string, number>();
  readonly #maxPages: number;
  readonly #maxEntries: number;
  #pages = 0;

  /** `maxEntries` bounds files and folders together. */
  constructor(maxBytes: number, maxEntries = Number.POSITIVE_INFINITY) {
    this.#maxPages = Math.floor(maxBytes / PAGE_BYTES);
    this.#maxEntries = maxEntries;
  }

  /** By path relative to the workspace. */
  get all(): ReadonlyMap<string, Uint8Array> {
    return this.#files;
  }

  async write(path: string, data: Uint8Array): Promise<void> {
    const components = workspaceComponents(path);
    if (components.some((name) => Buffer.byteLength(name) > MOST_NAME_BYTES)) throw nameTooLong();
    const name = components.join('/');
    const parents = parentsOf(components);
    if (name === '' || this.#folders.has(name)) throw notRegular(path, 'a folder');
    if (parents.some((parent) => this.#files.has(parent))) throw notRegular(path, 'below a file');
    const old = this.#files.get(name);
    const pages = this.#pages + pagesOf(data) - (old === undefined ? 0 : pagesOf(old));
    const added = old === undefined ? [name, ...parents.filter((parent) => !this.#folders.has(parent))] : [];
    const entries = this.#files.size + this.#folders.size + added.length;
    if (pages > this.#maxPages || entries > this.#maxEntries) throw tooFull(path);
    this.#pages = pages;
    this.#files.set(name, data);
    if (old !== undefined) return;
    for (const parent of parents) this.#folders.set(parent, (this.#folders.get(parent) ?? 0) + 1);
  }

  async read(path: string, maxBytes: number): Promise<Uint8Array> {
    const found = this.#files.get(workspaceComponents(path).join('/'));
    if (found === undefined) throw missing(path);
    if (found.byteLength > maxBytes) throw tooLarge(path, found.byteLength, maxBytes);
    return found;
  }

  async remove(path: string): Promise<void> {
    const components = workspaceComponents(path);
    const name = components.join('/');
    const old = this.#files.get(name);
    if (old === undefined) throw missing(path);
    this.#files.delete(name);
    this.#pages -= pagesOf(old);
    for (const parent of parentsOf(components)) {
      const left = (this.#folders.get(parent) ?? 0) - 1;
      if (left > 0) this.#folders.set(parent, left);
      else this.#folders.delete(parent);
    }
  }

  async pack(): Promise<never> {
    throw singleUse();
  }

  async unpack(): Promise<never> {
    throw singleUse();
  }

  async list(path: string): Promise<FileEntry[]> {
    const folder = workspaceComponents(path)
      .map((component) => `${component}/`)
      .join('');
    const modifiedAt = new Date().toISOString();
    const entries = new Map<string, FileEntry>();
    for (const [file, { byteLength }] of this.#files) {
      if (!file.startsWith(folder)) continue;
      const [name = '', ...deeper] = file.slice(folder.length).split('/');
      const type = deeper.length > 0 ? 'directory' : 'file';
      entries.set(name, {
        name,
        path: `/workspace/${folder}${name}`,
        type,
        size: deeper.length > 0 ? 0 : byteLength,
        modifiedAt,
      });
    }
    if (folder !== '' && entries.size === 0) throw missing(path);
    return [...entries.values()];
  }
}

/** The folders around it, the outermost first. */
function parentsOf(components: readonly string[]): string[] {
  return components.slice(1).map((_, index) => components.slice(0, index + 1).join('/'));
}

function pagesOf({ byteLength }: Uint8Array): number {
  return Math.ceil(byteLength / PAGE_BYTES);
}

function singleUse(): SandboxError {
  return new SandboxError('SANDBOX_FAILED', 'A sandbox for a single use carries no archives.', {
    hint: 'This is a bug of Glovebox: please report it.',
  });
}
