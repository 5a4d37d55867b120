import { execFileSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { describe, it } from 'vitest';
import { SYSTEM_VIEW } from '../../support/systemView.ts';
import { cgroupFolders } from '../../support/traces.ts';
import { PARTS } from './parts.ts';

/** What a test can ask of the machine; each answers why not, by other means than the sources under test. */
const NEEDS = {
  bubblewrap: () => {
    try {
      execFileSync('bwrap', ['--unshare-all', ...SYSTEM_VIEW, 'true'], { stdio: 'ignore' });
      return undefined;
    } catch {
      return 'bubblewrap does not work here';
    }
  },
  docker: () => {
    try {
      const image = process.env['DOCKER_IMAGE'] ?? 'glovebox-sandbox:latest';
      execFileSync('docker', ['image', 'inspect', image], { stdio: 'ignore' });
      return undefined;
    } catch {
      return 'no engine that has the image of the sandboxes answers here';
    }
  },
  gvisor: () => {
    try {
      execFileSync('runsc', ['--network=none', '--ignore-cgroups', 'do', 'true'], { stdio: 'ignore' });
      return undefined;
    } catch {
      return 'runsc does not work here';
    }
  },
  ...PARTS,
  root: () => (process.getuid?.() === 0 ? undefined : 'this user is not root'),
  cgroups: () =>
    cgroupFolders().some(canHoldSandboxes) ? undefined : 'no cgroup of this machine can be written',
  linux: () => (process.platform === 'linux' ? undefined : `this is ${process.platform}`),
} as const;

export type Need = keyof typeof NEEDS;

/**
 * `describe` for what a machine may not have. The title of a skipped block tells why; a need that
 * `REQUIRED_RUNTIMES` names fails instead.
 */
export function describeWith(needs: readonly Need[], title: string, tests: () => void): void {
  const missing = needs.flatMap((need) => {
    const reason = NEEDS[need]();
    return reason === undefined ? [] : [{ need, reason }];
  });
  const [first] = missing;
  if (first === undefined) return void describe(title, tests);
  const required = missing.find(({ need }) => requiredRuntimes().includes(need));
  if (required === undefined) return void describe.skip(`${title} (skipped: ${first.reason})`, tests);
  describe(title, () => {
    it(`needs ${required.need}, which REQUIRED_RUNTIMES names`, () => {
      throw new Error(required.reason);
    });
  });
}

function requiredRuntimes(): string[] {
  return (process.env['REQUIRED_RUNTIMES'] ?? '').split(',').map((name) => name.trim());
}

/** Version 1: a hierarchy of a limit. Version 2: a group that hands a limit down. */
function canHoldSandboxes(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    if (/\/(memory|pids)(\/|$)/.test(folder)) return true;
    return /memory|pids/.test(readFileSync(`${folder}/cgroup.subtree_control`, 'utf8'));
  } catch {
    // It cannot be written, or is no such hierarchy.
    return false;
  }
}
