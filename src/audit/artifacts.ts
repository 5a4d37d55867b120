import { createHash, randomBytes } from 'node:crypto';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../files/makeFolders.ts';
import type { ExecutionResult } from '../result/result.ts';
import { MAP_MEMBERS, resultToJson } from '../result/resultJson.ts';
import { redactDeep, redactor } from './redact.ts';

/** When to keep what was run: every time, when it did not succeed, or not at all. */
export type StorePolicy = 'always' | 'on_error' | 'never';

export interface ArtifactStore {
  readonly folder: string;
  readonly policy: StorePolicy;
  /** How many artifacts to keep; 1000 when absent. */
  readonly maxCount?: number;
  /** How long to keep them; 30 when absent. */
  readonly maxAgeDays?: number;
}

export interface ArtifactInput {
  readonly code: string;
  readonly result: ExecutionResult;
  readonly startedAt: Date;
  /** Values that must not be in the file, such as those of the variables passed in. */
  readonly secrets: readonly string[];
}

const SCHEMA_VERSION = 1;
const DEFAULT_MAX_COUNT = 1000;
const DEFAULT_MAX_AGE_DAYS = 30;
const MS_PER_DAY = 86_400_000;
const ARTIFACT_NAME = /^\d{8}T\d{6}\.\d{3}Z_[0-9a-f]{12}(?:-\d+)?\.json$/;

/**
 * Stores what was run and what came of it, without secrets; resolves to the path, or undefined when the policy
 * says no. Throws only plain I/O errors; the caller turns them into a warning.
 */
export async function storeArtifact(store: ArtifactStore, input: ArtifactInput): Promise<string | undefined> {
  if (store.policy === 'never' || (store.policy === 'on_error' && input.result.ok)) return undefined;
  const sha256 = createHash('sha256').update(input.code).digest('hex');
  const stem = `${timestamp(input.startedAt)}_${sha256.slice(0, 12)}`;
  makeFolders(store.folder, 0o700);
  const name = await writeNew(store.folder, stem, `${JSON.stringify(artifact(input, sha256), null, 2)}\n`);
  await prune(store, name, input.startedAt);
  return join(store.folder, name);
}

function artifact(
  { code, result, startedAt, secrets }: ArtifactInput,
  sha256: string,
): Record<string, unknown> {
  const redact = redactor(secrets);
  return {
    schema_version: SCHEMA_VERSION,
    code: redact(code),
    code_sha256: sha256,
    language: result.meta.language,
    created_at: startedAt.toISOString(),
    result: redactDeep(withFileSizes(result), redact, (name) =>
      MAP_MEMBERS.some((member) => member === name),
    ),
  };
}

/** The whole result, but of its files only the names and sizes. */
function withFileSizes({ files, ...result }: ExecutionResult): Record<string, unknown> {
  const json = resultToJson(result);
  if (files === undefined) return json;
  const sizes = Object.entries(files).map(([name, bytes]) => [name, { size: bytes.length }]);
  return { ...json, files: Object.fromEntries(sizes) };
}

/** UTC, e.g. `20261120T233015.123Z`; sorts by time. */
function timestamp(date: Date): string {
  return date.toISOString().replace(/[-:]/g, '');
}

/** Writes a file that is whole as soon as it is there, under the first name that is free. */
async function writeNew(folder: string, stem: string, text: string): Promise<string> {
  const temporary = join(folder, `.${stem}.${randomBytes(8).toString('hex')}.tmp`);
  const file = await createExclusively(temporary);
  try {
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    const name = await claimName(folder, stem);
    await rename(temporary, join(folder, name));
    return name;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Renaming would replace an artifact of the same moment, so the name is taken first. */
async function claimName(folder: string, stem: string): Promise<string> {
  for (let number = 1; ; number++) {
    const name = number === 1 ? `${stem}.json` : `${stem}-${number}.json`;
    try {
      await (await createExclusively(join(folder, name))).close();
      return name;
    } catch (error) {
      // EEXIST: somebody has this name, be it an artifact or a link that was planted; the next one may be free.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** `wx` is O_CREAT with O_EXCL: it fails on anything that exists and follows no link. */
function createExclusively(path: string): ReturnType<typeof open> {
  return open(path, 'wx', 0o600);
}

async function prune(store: ArtifactStore, newest: string, now: Date): Promise<void> {
  const entries = await readdir(store.folder, { withFileTypes: true });
  const others = entries
    .filter((entry) => entry.isFile() && entry.name !== newest)
    .map((entry) => entry.name);
  const superfluous = superfluousNames(others, {
    maxCount: (store.maxCount ?? DEFAULT_MAX_COUNT) - 1,
    notBefore: new Date(now.getTime() - (store.maxAgeDays ?? DEFAULT_MAX_AGE_DAYS) * MS_PER_DAY),
  });
  // `force`: another process may prune at the same time, and gone is what was asked for.
  await Promise.all(superfluous.map((name) => rm(join(store.folder, name), { force: true })));
}

/** Which artifacts are too many or too old, by the time in their names; names that are not ours are never among them. */
export function superfluousNames(
  names: readonly string[],
  { maxCount, notBefore }: { maxCount: number; notBefore: Date },
): string[] {
  const newestFirst = names
    .filter((name) => ARTIFACT_NAME.test(name))
    .sort()
    .reverse();
  const oldestKept = timestamp(notBefore);
  return newestFirst.filter((name, index) => index >= maxCount || name < oldestKept);
}
