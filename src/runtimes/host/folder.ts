/**
 * A folder held by its descriptor. Names below it are resolved one component at a time from descriptors and
 * never through a link, so that nothing a guest prepares can lead the host elsewhere, and check and use are
 * one step. Node has no `openat`; `/proc/self/fd/N/name` is the same thing on Linux. Elsewhere, where there
 * are only plain processes, the folder's path takes its place.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

const FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

export class Folder {
  readonly #handle: FileHandle;
  readonly #path: string;

  private constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.#path = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path;
  }

  /** Opens a folder by path; its last component must not be a link. */
  static async open(path: string): Promise<Folder> {
    return new Folder(await open(path, FOLDER_FLAGS), path);
  }

  get descriptor(): number {
    return this.#handle.fd;
  }

  /** A path for the entry `name`, for calls that do not follow a link in the last component. */
  entry(name: string): string {
    return `${this.#path}/${name}`;
  }

  /** The same for a name that need not be UTF-8. */
  rawEntry(name: Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.#path}/`), name]);
  }

  /** A path of the folder itself. */
  get self(): string {
    return `${this.#path}/.`;
  }

  /** Opens a folder in it; a link of that name is refused (ENOTDIR or ELOOP). */
  async enter(name: string): Promise<Folder> {
    const path = this.entry(name);
    return new Folder(await open(path, FOLDER_FLAGS), path);
  }

  async chown(uid: number, gid: number): Promise<void> {
    await this.#handle.chown(uid, gid);
  }

  async chmod(mode: number): Promise<void> {
    await this.#handle.chmod(mode);
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}
