import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { type ContextOptions, createContext } from '../../../src/operations/context.ts';

export interface Home {
  readonly folder: string;
  readonly env: Record<string, string>;
  /** Settings as an agent has them, with nothing of this machine's user in them. */
  context(options?: ContextOptions): ReturnType<typeof createContext>;
}

/** A home and a folder of its own for each test. */
export function useHome(): Home {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gbx-agent-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const home: Home = {
    get folder() {
      return folder;
    },
    get env() {
      return {
        PATH: process.env['PATH'] ?? '',
        HOME: folder,
        XDG_STATE_HOME: join(folder, 'state'),
        XDG_CONFIG_HOME: join(folder, 'config'),
        SANDBOX_ARTIFACTS_DIR: join(folder, 'artifacts'),
      };
    },
    context: (options = {}) =>
      createContext({ surface: 'agent', runtime: 'bubblewrap', env: home.env, cwd: folder, ...options }),
  };
  return home;
}
