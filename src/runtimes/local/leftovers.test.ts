import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ownedName } from '../host/owner.ts';
import { sweepFolders } from './leftovers.ts';

let place: string;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'leftovers-test-'));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

const [, namespace = '0'] = ownedName('x').split('-');

/** As a process left it that no longer runs: no pid is as large. */
function leave(id: string): string {
  const folder = join(place, `glovebox-${namespace}-99999999-1-${id}`);
  mkdirSync(join(folder, 'workspace/below'), { recursive: true });
  writeFileSync(join(folder, 'workspace/below/file'), 'x');
  return folder;
}

describe.runIf(process.platform === 'linux')('folders of dead processes', () => {
  it('are removed, and nothing else is', async () => {
    leave('a');
    mkdirSync(join(place, ownedName('alive')));
    mkdirSync(join(place, 'glovebox-of-another-kind'));
    expect(await sweepFolders([place])).toBe(1);
    expect(readdirSync(place).sort()).toEqual([ownedName('alive'), 'glovebox-of-another-kind'].sort());
  });

  it('are removed once by many who are at it at one time', async () => {
    for (let number = 0; number < 20; number++) leave(`n${number}`);
    const swept = await Promise.all(Array.from({ length: 4 }, () => sweepFolders([place])));
    expect(swept.reduce((sum, count) => sum + count, 0)).toBe(20);
    expect(readdirSync(place)).toEqual([]);
  });

  it.runIf(process.getuid?.() === 0)(
    'are removed although one of them cannot be, which is told',
    async () => {
      const [first, , last] = ['a', 'b', 'c'].map(leave);
      const mounted = join(String(first), 'workspace');
      execFileSync('mount', ['--bind', String(last), mounted]);
      try {
        await expect(sweepFolders([place])).rejects.toMatchObject({ code: 'EBUSY' });
        expect(readdirSync(place)).toHaveLength(1);
      } finally {
        // It was moved, with what is mounted in it.
        const [left = ''] = readdirSync(place);
        execFileSync('umount', [join(place, left, 'workspace')]);
      }
    },
  );
});
