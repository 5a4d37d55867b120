import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { LoadOptions } from './load.ts';
import { readTextFile } from './readTextFile.ts';
import { type Pin, sha256 } from './trust.ts';
import { projectFileAt, trustStore } from './trustProposal.ts';

/** A pinned file, and whether what lies at its path now is what was trusted. */
export interface TrustedFile extends Pin {
  readonly now: 'the same' | 'changed' | 'gone' | 'unreadable';
}

type Surroundings = Pick<LoadOptions, 'cwd' | 'env' | 'homeDir'>;

/** What is pinned, by path, and why other records are not believed. */
export async function listTrusted(
  surroundings: Surroundings = {},
): Promise<{ readonly files: readonly TrustedFile[]; readonly unusable: readonly string[] }> {
  const { pins, unusable } = trustStore(surroundings).list();
  const files: TrustedFile[] = [];
  for (const pin of pins) files.push({ ...pin, now: await stateOf(pin) });
  return { files, unusable };
}

/** Trusts a project file no more, whether or not it is still there; resolves to its path, and whether it was pinned. */
export async function removeTrust(
  file?: string,
  surroundings: Surroundings = {},
): Promise<{ readonly path: string; readonly wasPinned: boolean }> {
  const { path, named } = await projectFileAt(file, surroundings);
  const store = trustStore(surroundings);
  // What was its true place may be behind a link today.
  const removed = [...new Set([path, named])].filter((name) => store.remove(name));
  return { path: removed[0] ?? path, wasPinned: removed.length > 0 };
}

async function stateOf({ path, sha256: pinned }: Pin): Promise<TrustedFile['now']> {
  try {
    const file = await readTextFile(path, 'project file');
    if (file === undefined) return 'gone';
    const isHere = (await realpath(dirname(path))) === dirname(path);
    return isHere && sha256(file.bytes) === pinned ? 'the same' : 'changed';
  } catch {
    // A folder, a pipe, no UTF-8, no permission: nothing of the kind is taken for a project file.
    return 'unreadable';
  }
}
