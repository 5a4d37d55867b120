import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));

/** The built command. */
export const MAIN = join(REPOSITORY, 'dist/cli/main.js');

/** What the build writes last. */
const LAST_OUTPUT = join(REPOSITORY, 'dist/settings.schema.json');

/** A folder: making one either works or says that somebody has it. */
const LOCK = join(REPOSITORY, 'node_modules/.glovebox-tests-build');

const DEADLINE_MS = 60_000;

let built: Promise<void> | undefined;

/** Builds where `dist` is missing or older than the sources; test files that run side by side build once. */
export function ensureBuilt(): Promise<void> {
  built ??= build();
  return built;
}

async function build(): Promise<void> {
  if (isUpToDate()) return;
  await takeLock();
  try {
    if (!isUpToDate()) await promisify(execFile)('npm', ['run', 'build'], { cwd: REPOSITORY });
  } finally {
    rmSync(LOCK, { recursive: true });
  }
}

function isUpToDate(): boolean {
  const builtAt = statSync(LAST_OUTPUT, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = readdirSync(join(REPOSITORY, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => join(REPOSITORY, 'src', path));
  return [...sources, join(REPOSITORY, 'package.json')].every((path) => statSync(path).mtimeMs < builtAt);
}

async function takeLock(): Promise<void> {
  mkdirSync(dirname(LOCK), { recursive: true });
  for (const deadline = Date.now() + DEADLINE_MS; ; ) {
    try {
      mkdirSync(LOCK);
      writeFileSync(join(LOCK, 'owner'), String(process.pid));
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (isOwnerDead()) rmSync(LOCK, { recursive: true, force: true });
    if (Date.now() > deadline) throw new Error(`Somebody has been building for too long: ${LOCK}`);
    await delay(50);
  }
}

function isOwnerDead(): boolean {
  try {
    process.kill(Number(readFileSync(join(LOCK, 'owner'), 'utf8')) || process.pid, 0);
    return false;
  } catch (error) {
    // ENOENT: the lock was given back just now, or its owner has not written its name yet.
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
