/**
 * Answers that are slow to get and change seldom, kept in the user's cache folder by everything that they
 * depend on. A cache is only ever a shortcut: what cannot be read or written costs time and nothing else.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** What is kept for this key, as text parts; undefined when there is nothing usable. */
export async function readCached(kind: string, key: unknown): Promise<readonly string[] | undefined> {
  try {
    const parts: unknown = JSON.parse(await readFile(fileFor(kind, key), 'utf8'));
    return Array.isArray(parts) && parts.every((part) => typeof part === 'string') ? parts : undefined;
  } catch {
    // Absent or damaged.
    return undefined;
  }
}

export async function writeCached(kind: string, key: unknown, parts: readonly string[]): Promise<void> {
  const file = fileFor(kind, key);
  const temporary = `${file}.${randomUUID()}`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(temporary, JSON.stringify(parts), { flag: 'wx', mode: 0o600 });
    await rename(temporary, file);
  } catch {
    // A home that cannot be written.
  }
}

/** Forgets what turned out not to be so any more. */
export async function forgetCached(kind: string, key: unknown): Promise<void> {
  // A home that cannot be written: then nothing was kept there by us.
  await rm(fileFor(kind, key), { force: true }).catch(() => {});
}

function fileFor(kind: string, key: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 32);
  return join(cacheFolder(kind), `${hash}.json`);
}

/** The user's folder for what can be made again; it need not exist. */
export function cacheFolder(kind: string): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'glovebox', kind);
}
