/** Which project files a person trusts: for each path, the SHA-256 of the content that they looked at. */
import { createHash } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isSandboxError, SandboxError } from '../errors.ts';
import {
  isPrivateFolder,
  makePrivateFolder,
  readPrivateFile,
  syncFolder,
  writePrivateFile,
} from '../files/privateFiles.ts';

/** What a person trusts: exactly this content at exactly this path. */
export interface Pin {
  readonly path: string;
  readonly sha256: string;
  readonly trustedAt: string;
}

/** What is known of a file: `changed` was trusted with another content, `unusable` says why nobody can tell. */
export type Trust =
  | { readonly is: 'trusted' | 'changed'; readonly pin: Pin }
  | { readonly is: 'unknown' }
  | { readonly is: 'unusable'; readonly reason: string };

/** A path has at most 4096 bytes, and each of them six characters when it is escaped. */
const MAX_RECORD_BYTES = 32 * 1024;

const RECORD = /^[0-9a-f]{64}\.json$/;

/**
 * The pins of one user, a file for each in a folder that is theirs alone. What somebody else could have written is not
 * believed; another process of the same user is trusted as the user.
 */
export class TrustStore {
  readonly #folder: string;

  /** `stateFolder` is where what lasts of this user is kept. */
  constructor(stateFolder: string) {
    this.#folder = join(stateFolder, 'trusted');
  }

  /** Whether the content of a file is trusted. The path must be one without links. Never throws. */
  trustOf(path: string, content: Uint8Array): Trust {
    try {
      if (!this.#isThere()) return { is: 'unknown' };
      const found = this.#read(nameOf(path));
      if (!('pin' in found)) return found;
      const { pin } = found;
      if (pin.path !== path)
        return { is: 'unusable', reason: `${this.#pathOf(nameOf(path))} names another path` };
      return { is: pin.sha256 === sha256(content) ? 'trusted' : 'changed', pin };
    } catch (error) {
      return { is: 'unusable', reason: (error as Error).message };
    }
  }

  /** Trusts this content at this path, and nothing else there any more. Throws `CONFIG_INVALID` when that cannot be kept. */
  pin(path: string, content: Uint8Array): Pin {
    const pin: Pin = { path, sha256: sha256(content), trustedAt: new Date().toISOString() };
    this.#change(() => {
      makePrivateFolder(this.#folder);
      writePrivateFile(this.#pathOf(nameOf(path)), `${JSON.stringify(pin)}\n`);
      syncFolder(this.#folder);
    });
    return pin;
  }

  /** Trusts nothing at this path any more; whether something was. Throws `CONFIG_INVALID` when that cannot be kept. */
  remove(path: string): boolean {
    if (!this.#isThere() || !readdirSync(this.#folder).includes(nameOf(path))) return false;
    this.#change(() => {
      rmSync(this.#pathOf(nameOf(path)), { recursive: true, force: true });
      syncFolder(this.#folder);
    });
    return true;
  }

  /** Throws `CONFIG_INVALID` where there is something that somebody else could have made. */
  assertUsable(): void {
    this.#isThere();
  }

  /** All pins, by path, and why others are not believed. */
  list(): { readonly pins: readonly Pin[]; readonly unusable: readonly string[] } {
    if (!this.#isThere()) return { pins: [], unusable: [] };
    const names = readdirSync(this.#folder).filter((name) => RECORD.test(name));
    const pins: Pin[] = [];
    const unusable: string[] = [];
    for (const name of names) {
      const found = this.#read(name);
      if ('pin' in found && nameOf(found.pin.path) === name) pins.push(found.pin);
      else if ('pin' in found) unusable.push(`${this.#pathOf(name)} names another path`);
      else if (found.is === 'unusable') unusable.push(found.reason);
    }
    return { pins: pins.sort((a, b) => (a.path < b.path ? -1 : 1)), unusable: unusable.sort() };
  }

  #change(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (isSandboxError(error)) throw error;
      throw new SandboxError(
        'CONFIG_INVALID',
        `What is trusted cannot be kept: ${(error as Error).message}`,
        {
          hint: `Make it possible to write in ${JSON.stringify(this.#folder)}, or set XDG_STATE_HOME.`,
          details: { path: this.#folder },
          cause: error,
        },
      );
    }
  }

  #isThere(): boolean {
    try {
      return isPrivateFolder(this.#folder);
    } catch (error) {
      // The home of the user is no folder, as where it is the null device: they trust nothing.
      if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return false;
      throw error;
    }
  }

  #read(name: string): { readonly pin: Pin } | Exclude<Trust, { readonly pin: Pin }> {
    const path = this.#pathOf(name);
    const file = readPrivateFile(path, MAX_RECORD_BYTES);
    if (file.found === 'nothing') return { is: 'unknown' };
    if (file.found === 'unusable')
      return { is: 'unusable', reason: `${path} is not believed: ${file.reason}` };
    const pin = pinFrom(file.text);
    return pin === undefined ? { is: 'unusable', reason: `${path} is not what was written there` } : { pin };
  }

  #pathOf(name: string): string {
    return join(this.#folder, name);
  }
}

/** As any other tool computes it. */
export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

function nameOf(path: string): string {
  return `${sha256(path)}.json`;
}

/** Undefined where it is not, in every member, what is written for a pin. */
function pinFrom(text: string): Pin | undefined {
  let value: Partial<Record<keyof Pin, unknown>> | null;
  try {
    value = JSON.parse(text);
  } catch {
    // A SyntaxError: it was changed or cut short.
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { path, sha256: hash, trustedAt } = value;
  const isWhole =
    typeof path === 'string' &&
    typeof hash === 'string' &&
    /^[0-9a-f]{64}$/.test(hash) &&
    typeof trustedAt === 'string' &&
    !Number.isNaN(Date.parse(trustedAt));
  return isWhole ? { path, sha256: hash, trustedAt } : undefined;
}
