/** Where other processes of this user find the server. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type LoadOptions, stateFolder } from '../config/index.ts';
import { makePrivateFolder, readPrivateFile, writePrivateFile } from '../files/privateFiles.ts';

const NAME = 'serve.json';
const MAX_BYTES = 4096;

const content = z.strictObject({ url: z.url(), pid: z.number().int().positive() });

export type ServerAddress = z.infer<typeof content>;

type Surroundings = Pick<LoadOptions, 'env' | 'homeDir'>;

/** Says where it listens; a user without a home has nobody to tell. Throws `CONFIG_INVALID`, and what the file system throws. */
export function writeStateFile(address: ServerAddress, surroundings: Surroundings): void {
  const folder = stateFolder(surroundings);
  if (folder === undefined) return;
  makePrivateFolder(folder);
  writePrivateFile(join(folder, NAME), `${JSON.stringify(address)}\n`);
}

/** Where a server of this user listens, as it said; undefined where none did, or where that is not to be believed. */
export function readStateFile(surroundings: Surroundings = {}): ServerAddress | undefined {
  const folder = stateFolder(surroundings);
  if (folder === undefined) return undefined;
  const file = readPrivateFile(join(folder, NAME), MAX_BYTES);
  if (file.found !== 'text') return undefined;
  try {
    return content.parse(JSON.parse(file.text));
  } catch {
    // Somebody else wrote it, or only a part of it.
    return undefined;
  }
}

/** Takes back what this very process said; what another one said meanwhile stays. */
export function removeStateFile(surroundings: Surroundings): void {
  const folder = stateFolder(surroundings);
  if (folder === undefined || readStateFile(surroundings)?.pid !== process.pid) return;
  rmSync(join(folder, NAME), { force: true });
}
