import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isSandboxError, SandboxError } from '../errors.ts';
import { FolderLock } from '../files/folderLock.ts';
import {
  isPrivateFolder,
  makePrivateFolder,
  PART,
  readPrivateFile,
  syncFolder,
  writePrivateFile,
} from '../files/privateFiles.ts';
import { type StoredKey, storedKey } from './key.ts';

const NAME = 'keys.json';
const MAX_BYTES = 2 * 1024 * 1024;

const content = z
  .strictObject({ version: z.literal(1), keys: z.array(storedKey) })
  .refine(({ keys }) => new Set(keys.map(({ id }) => id)).size === keys.length, 'ids are there twice');

/**
 * The file of one user's keys, in a folder that is theirs alone. It is read again whenever it is asked for, so what another
 * process has changed holds at once; another process of the same user is trusted as the user.
 */
export class KeyFile {
  readonly #folder: string;
  /** What was read last: reading is cheap, understanding is not. */
  #known: { readonly text: string; readonly keys: ReadonlyMap<string, StoredKey> } | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** By id; none where there is no file. Throws `CONFIG_INVALID` for a file that must not be believed. */
  read(): ReadonlyMap<string, StoredKey> {
    if (!this.#isThere()) return new Map();
    const file = readPrivateFile(this.#path, MAX_BYTES);
    if (file.found === 'nothing') return new Map();
    if (file.found === 'unusable') throw this.#notBelieved(file.reason);
    if (file.text !== this.#known?.text) this.#known = { text: file.text, keys: this.#keysIn(file.text) };
    return this.#known.keys;
  }

  /**
   * Puts what `action` returns in the place of what is there, while nobody else does. Throws what `read` and `action` throw,
   * and `CONFIG_INVALID` when it cannot be written.
   */
  async change(action: (keys: ReadonlyMap<string, StoredKey>) => readonly StoredKey[]): Promise<void> {
    try {
      makePrivateFolder(this.#folder);
      const lock = new FolderLock(this.#folder, { what: 'The folder of keys', code: 'WAIT_FAILED' });
      await lock.hold(() => {
        const keys = action(this.read());
        // We have the lock: whoever was writing it is dead.
        for (const name of readdirSync(this.#folder)) {
          if (PART.test(name)) rmSync(join(this.#folder, name), { force: true });
        }
        writePrivateFile(this.#path, `${JSON.stringify({ version: 1, keys }, undefined, 1)}\n`);
        syncFolder(this.#folder);
      });
    } catch (error) {
      if (isSandboxError(error)) throw error;
      throw new SandboxError('CONFIG_INVALID', `Keys cannot be kept: ${(error as Error).message}`, {
        hint: `Make it possible to write in ${JSON.stringify(this.#folder)}, or set XDG_STATE_HOME.`,
        details: { path: this.#folder },
        cause: error,
      });
    }
  }

  get #path(): string {
    return join(this.#folder, NAME);
  }

  #isThere(): boolean {
    try {
      return isPrivateFolder(this.#folder);
    } catch (error) {
      // The home of the user is no folder, as where it is the null device: they have no keys.
      if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return false;
      throw error;
    }
  }

  #keysIn(text: string): ReadonlyMap<string, StoredKey> {
    const parsed = content.safeParse(parseJson(text));
    if (!parsed.success) throw this.#notBelieved('it is not what was written there');
    return new Map(parsed.data.keys.map((key) => [key.id, key]));
  }

  #notBelieved(reason: string): SandboxError {
    return new SandboxError(
      'CONFIG_INVALID',
      `The keys in ${JSON.stringify(this.#path)} are not believed: ${reason}.`,
      {
        hint: 'No key holds until it is repaired. Bring back a copy of it, or remove it and make new keys.',
        details: { path: this.#path },
      },
    );
  }
}

/** Undefined for what is none. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A SyntaxError: it was changed or cut short.
    return undefined;
  }
}
