import { ask } from '../host/ask.ts';
import type { Missing } from '../host/tools.ts';

/** The oldest bubblewrap with every flag that is used (`--disable-userns`). */
export const MINIMUM_VERSION = '0.8.0';

/** The programs that build a sandbox, and Debian's packages that have them. */
export const PACKAGES = {
  bwrap: 'bubblewrap',
  bash: 'bash',
  sh: 'dash',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  mount: 'mount',
  prlimit: 'util-linux',
} as const;

/** The same by absolute path. */
export type Tools = Readonly<Record<keyof typeof PACKAGES, string>>;

/** Asks bubblewrap for its version, and refuses one that is too old. */
export async function checkVersion({ bwrap }: Tools): Promise<{ readonly version: string } | Missing> {
  let said: string;
  try {
    said = await ask(bwrap, ['--version']);
  } catch (error) {
    return {
      reason: (error as Error).message,
      fix: "Install it anew: apt-get install --reinstall bubblewrap (or your system's package of that name).",
    };
  }
  const version = /\d+\.\d+(\.\d+)?/.exec(said)?.[0] ?? 'unknown';
  if (isAtLeastVersion(version, MINIMUM_VERSION)) return { version };
  return {
    reason: `bubblewrap ${version} is too old; ${MINIMUM_VERSION} is the oldest that works.`,
    fix: `Install bubblewrap ${MINIMUM_VERSION} or later (Debian 12 and Ubuntu 24.04 have it): apt-get install bubblewrap.`,
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
