import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { FolderLock } from '../../files/folderLock.ts';
import {
  isPrivateFolder,
  makePrivateFolder,
  PART,
  readPrivateFile,
  syncFolder,
  writePrivateFile,
} from '../../files/privateFiles.ts';
import { OPERATIONS, RISK_LEVELS } from '../risk.ts';
import type { Grant } from './grant.ts';
import type { Change, GrantKeeper } from './grants.ts';
import { isId } from './ids.ts';

export interface GrantStoreOptions {
  readonly folder: string;
  /** Told, once for each, of files that are not believed. */
  readonly onWarning?: (message: string) => void;
}

const MAX_FILE_BYTES = 64 * 1024;

/**
 * Grants in a folder that the processes of one user share, a file for each: what one gives or revokes holds for all.
 * Another process of the same user is trusted as the user.
 */
export class GrantStore implements GrantKeeper {
  readonly #folder: string;
  readonly #onWarning: (message: string) => void;
  readonly #warned = new Set<string>();

  constructor({ folder, onWarning = () => {} }: GrantStoreOptions) {
    this.#folder = folder;
    this.#onWarning = onWarning;
  }

  async change<T>(action: (grants: readonly Grant[]) => Change<T>): Promise<T> {
    if (!isPrivateFolder(this.#folder)) {
      // Nobody has given any: a folder is made when there is something to put there.
      const { kept, result } = action([]);
      if (kept.length === 0) return result;
      makePrivateFolder(this.#folder);
    }
    const lock = new FolderLock(this.#folder, { what: 'The folder of grants', code: 'WAIT_FAILED' });
    return lock.hold(() => {
      const found = this.#read();
      const { kept, result } = action(found);
      this.#write(found, kept);
      return result;
    });
  }

  #read(): Grant[] {
    return readdirSync(this.#folder).flatMap((name) => {
      const path = join(this.#folder, name);
      // We have the lock: whoever was writing it is dead.
      if (PART.test(name)) rmSync(path, { force: true });
      const id = name.replace(/\.json$/, '');
      if (!name.endsWith('.json') || !isId(id)) return [];
      const file = readPrivateFile(path, MAX_FILE_BYTES);
      if (file.found === 'nothing') return [];
      const grant = file.found === 'text' ? grantFrom(file.text, id) : undefined;
      if (grant !== undefined) return [grant];
      this.#warn(path, file.found === 'unusable' ? file.reason : 'it is not what was written there');
      return [];
    });
  }

  #write(before: readonly Grant[], after: readonly Grant[]): void {
    const gone = before.filter(({ id }) => !after.some((grant) => grant.id === id));
    const changed = after.filter((grant) => !before.includes(grant));
    for (const { id } of gone) rmSync(this.#pathOf(id), { force: true });
    for (const grant of changed) writePrivateFile(this.#pathOf(grant.id), `${JSON.stringify(grant)}\n`);
    if (gone.length + changed.length > 0) syncFolder(this.#folder);
  }

  #pathOf(id: string): string {
    return join(this.#folder, `${id}.json`);
  }

  #warn(path: string, reason: string): void {
    if (this.#warned.has(path)) return;
    this.#warned.add(path);
    this.#onWarning(`The grant in ${JSON.stringify(path)} is not believed: ${reason}.`);
  }
}

/** Undefined where it is not, in every member, what is written for a grant of this id. */
function grantFrom(text: string, id: string): Grant | undefined {
  let value: Partial<Record<keyof Grant, unknown>> | null;
  try {
    value = JSON.parse(text);
  } catch {
    // A SyntaxError: it was changed or cut short.
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { scope, hash, operation, runtime, sandboxId, level, givenBy, givenAt, expiresAt, usesLeft } = value;
  const isWhole =
    value.id === id &&
    (scope === 'exact' || scope === 'operation') &&
    isText(hash) &&
    OPERATIONS.some((name) => name === operation) &&
    isText(runtime) &&
    (sandboxId === null || isText(sandboxId)) &&
    RISK_LEVELS.some((name) => name === level) &&
    isText(givenBy) &&
    isTime(givenAt) &&
    isTime(expiresAt) &&
    (usesLeft === null || (Number.isSafeInteger(usesLeft) && (usesLeft as number) > 0));
  return isWhole
    ? ({
        id,
        scope,
        hash,
        operation,
        runtime,
        sandboxId,
        level,
        givenBy,
        givenAt,
        expiresAt,
        usesLeft,
      } as Grant)
    : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTime(value: unknown): boolean {
  return isText(value) && !Number.isNaN(Date.parse(value));
}
