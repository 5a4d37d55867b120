import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, vi } from 'vitest';

/** A user's folder, with no settings of theirs or ours in reach. */
export interface Surroundings {
  readonly folder: string;
  /** Where temporary files go; nothing else does. */
  readonly temporary: string;
  set(variable: string, value: string): void;
}

/** Makes new surroundings before each test, as the process's own: folder, environment and temporary folder. */
export function useSurroundings(): Surroundings {
  const before = process.cwd();
  let root = '';
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'gbx-scenario-')));
    for (const name of ['folder', 'home', 'tmp']) mkdirSync(join(root, name));
    for (const name of Object.keys(process.env)) {
      if (/^(SANDBOX|GLOVEBOX)_/.test(name)) vi.stubEnv(name, undefined);
    }
    vi.stubEnv('HOME', join(root, 'home'));
    vi.stubEnv('XDG_CONFIG_HOME', join(root, 'home/config'));
    vi.stubEnv('TMPDIR', join(root, 'tmp'));
    process.chdir(join(root, 'folder'));
  });
  afterEach(() => {
    process.chdir(before);
    vi.unstubAllEnvs();
    rmSync(root, { recursive: true, force: true });
  });
  return {
    get folder() {
      return join(root, 'folder');
    },
    get temporary() {
      return join(root, 'tmp');
    },
    set: (variable, value) => void vi.stubEnv(variable, value),
  };
}
