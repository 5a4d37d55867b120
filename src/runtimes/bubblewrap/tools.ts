import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findExecutable } from '../host/executables.ts';

/** The oldest bubblewrap with every flag that is used (`--disable-userns`). */
export const MINIMUM_VERSION = '0.8.0';

/** The programs that build a sandbox, by absolute path. */
export interface Tools {
  readonly bwrap: string;
  readonly bash: string;
  readonly sh: string;
  readonly unshare: string;
  readonly nsenter: string;
  readonly mount: string;
  readonly prlimit: string;
}

/** Why it does not work, and what to do. */
export interface Missing {
  readonly reason: string;
  readonly fix: string;
}

const PACKAGES = {
  bwrap: 'bubblewrap',
  bash: 'bash',
  sh: 'dash',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  mount: 'mount',
  prlimit: 'util-linux',
} as const;

/** Finds the programs, or says which is missing and how to get it. */
export async function findTools(): Promise<Tools | Missing> {
  const paths: Partial<Record<keyof typeof PACKAGES, string>> = {};
  for (const [name, packageName] of Object.entries(PACKAGES)) {
    const path = findExecutable(name);
    if (path === undefined) {
      return {
        reason: `${name === 'bwrap' ? 'bubblewrap (bwrap)' : name} is not installed.`,
        fix: `Install it: apt-get install ${packageName} (or your system's package of that name).`,
      };
    }
    paths[name as keyof typeof PACKAGES] = path;
  }
  return paths as Tools;
}

/** Asks bubblewrap for its version, and refuses one that is too old. */
export async function checkVersion({ bwrap }: Tools): Promise<{ readonly version: string } | Missing> {
  const { stdout } = await promisify(execFile)(bwrap, ['--version'], { env: {} });
  const version = /\d+\.\d+(\.\d+)?/.exec(stdout)?.[0] ?? 'unknown';
  if (isAtLeastVersion(version, MINIMUM_VERSION)) return { version };
  return {
    reason: `bubblewrap ${version} is too old; ${MINIMUM_VERSION} is the oldest that works.`,
    fix: `Install bubblewrap ${MINIMUM_VERSION} or later.`,
  };
}

/** Compares dotted versions number by number. Pure. */
export function isAtLeastVersion(version: string, minimum: string): boolean {
  const numbers = (text: string): number[] => text.split('.').map(Number);
  const [have, want] = [numbers(version), numbers(minimum)];
  for (const [index, wanted] of want.entries()) {
    const actual = have[index] ?? 0;
    if (Number.isNaN(actual)) return false;
    if (actual !== wanted) return actual > wanted;
  }
  return true;
}
