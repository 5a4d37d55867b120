/** The file operations of a workspace before its one program runs: nothing is there but what we put there. */
import { SandboxError } from '../../errors.ts';
import type { FileEntry } from '../runtime.ts';
import { missing, notRegular, tooFull, tooLarge } from './fileRefusals.ts';
import type { GuestFiles } from './hostGuest.ts';
import { workspaceComponents } from './workspacePath.ts';

/** Files that are kept here until the program's own process takes them. */
export class PendingFiles implements GuestFiles {
  readonly #files = new Map<string, Uint8Array>();
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** By path relative to the workspace. */
  get all(): ReadonlyMap<string, Uint8Array> {
    return this.#files;
  }

  async write(path: string, data: Uint8Array): Promise<void> {
    const components = workspaceComponents(path);
    const name = components.join('/');
    if (name === '') throw notRegular(path, 'a folder');
    for (const other of this.#files.keys()) {
      if (other.startsWith(`${name}/`)) throw notRegular(path, 'a folder');
      if (name.startsWith(`${other}/`)) throw notRegular(path, 'below a file');
    }
    let total = data.byteLength;
    for (const [other, { byteLength }] of this.#files) if (other !== name) total += byteLength;
    if (total > this.#maxBytes) throw tooFull(path);
    this.#files.set(name, data);
  }

  async read(path: string, maxBytes: number): Promise<Uint8Array> {
    const found = this.#files.get(workspaceComponents(path).join('/'));
    if (found === undefined) throw missing(path);
    if (found.byteLength > maxBytes) throw tooLarge(path, found.byteLength, maxBytes);
    return found;
  }

  async remove(path: string): Promise<void> {
    const name = workspaceComponents(path).join('/');
    if (!this.#files.delete(name)) throw missing(path);
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

function singleUse(): SandboxError {
  return new SandboxError('SANDBOX_FAILED', 'A sandbox for a single use carries no archives.', {
    hint: 'This is a bug of Glovebox: please report it.',
  });
}
