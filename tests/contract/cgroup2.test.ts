import { accessSync, constants, readFileSync } from 'node:fs';
import { describe, it } from 'vitest';
import { cgroupLayout } from '../../src/runtimes/host/cgroups/find.ts';
import { cgroupVersion2 } from '../../src/runtimes/host/cgroups/version2.ts';
import { local } from '../../src/runtimes/local/index.ts';
import { holdToContract } from './holdToContract.ts';

/**
 * Entering, counting and ending by a real hierarchy of version 2, also on a machine whose controllers are
 * with version 1: every kernel that has the hierarchy lets groups be made in it, with limits or without.
 */
const where = writableHierarchy();
if (typeof where === 'string') {
  describe.skip(`a plain process in a cgroup of version 2 (skipped: ${where})`, () => {
    it('is held to the contract', () => {});
  });
} else {
  const { mount, own } = where;
  await holdToContract(
    'local, a plain process in a cgroup of version 2 without limits',
    local({ isolation: 'none', cgroups: cgroupVersion2(mount, own, mount, new Set()) }),
  );
  await holdToContract(
    'local, in namespaces and in a cgroup of version 2 without limits',
    local({ isolation: 'namespace', cgroups: cgroupVersion2(mount, own, mount, new Set()) }),
  );
}

function writableHierarchy(): { mount: string; own: string } | string {
  if (process.platform !== 'linux') return `this is ${process.platform}`;
  const { unified } = cgroupLayout(
    readFileSync('/proc/self/mountinfo', 'utf8'),
    readFileSync('/proc/self/cgroup', 'utf8'),
  );
  if (unified === undefined) return 'no hierarchy of version 2 is mounted';
  try {
    accessSync(`${unified.mount}/cgroup.procs`, constants.W_OK);
    return unified;
  } catch {
    return 'this user cannot write the root of the hierarchy of version 2';
  }
}
