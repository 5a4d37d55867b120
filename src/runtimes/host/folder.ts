/**
 * A folder held by its descriptor. Names below it are resolved one component at a time from descriptors and
 * never through a link, so that nothing a guest prepares can lead the host elsewhere, and check and use are
 * one step. Node has no `openat`; `/proc/self/fd/N/name` is the same thing on Linux. Elsewhere, where there
 * are only plain processes, the folder's path takes its place.
 *
 * These calls do not wait: a name in a local folder is a matter of microseconds, and a trip to a thread and
 * back is many times that.
 */
import { closeSync, constants, fchmodSync, fchownSync, lstatSync, openSync } from 'node:fs';

const FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

export class Folder implements Disposable {
  readonly descriptor: number;
  readonly #path: string;
  #open = true;

  private constructor(descriptor: number, path: string) {
    this.descriptor = descriptor;
    this.#path = process.platform === 'linux' ? `/proc/self/fd/${descriptor}` : path;
  }

  /** Opens a folder by path; its last component must not be a link. */
  static open(path: string | Buffer): Folder {
    return new Folder(openSync(path, FOLDER_FLAGS), String(path));
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

  /** Opens a folder in it; a link of that name is refused with ELOOP, anything else with ENOTDIR. */
  enter(name: string | Buffer): Folder {
    const path = typeof name === 'string' ? this.entry(name) : this.rawEntry(name);
    try {
      return Folder.open(path);
    } catch (error) {
      // The kernel has one answer for both.
      if ((error as NodeJS.ErrnoException).code === 'ENOTDIR' && isLink(path)) {
        Object.assign(error as object, { code: 'ELOOP' });
      }
      throw error;
    }
  }

  chown(uid: number, gid: number): void {
    fchownSync(this.descriptor, uid, gid);
  }

  chmod(mode: number): void {
    fchmodSync(this.descriptor, mode);
  }

  /** Safe to call twice. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.descriptor);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function isLink(path: string | Buffer): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}
