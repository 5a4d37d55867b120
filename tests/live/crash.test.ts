/** What a sandbox lives on is taken away from outside: it says so, and leaves nothing. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeMissing, TARGETS } from '../support/targets.ts';
import { expectNothingLeft, open } from './support.ts';

const inEngine = TARGETS.filter(({ name }) => name.startsWith('docker'));
const inNamespaces = TARGETS.filter(({ name }) => name === 'bubblewrap');

describe.each(inEngine)('a sandbox whose container somebody removes: $name', (target) => {
  it('has crashed, says so without being asked, and every later call does', async () => {
    await using sandbox = await open(target);
    await sandbox.writeFile('a', 'b');
    const running = sandbox.exec(['sh', '-c', 'echo begun; exec sleep 100'], {
      onOutput: () => remove(ours('k')),
    });
    expect(await sandbox.whenEnded).toMatchObject({
      reason: 'crashed',
      message: expect.stringContaining('container'),
    });
    expect(await running).toMatchObject({ outcome: 'killed', meta: { warnings: expect.any(Array) } });
    await expect(sandbox.readFile('a')).rejects.toMatchObject({
      code: 'SANDBOX_CLOSED',
      details: { reason: 'crashed' },
    });
    await sandbox.close();
    await expectNothingLeft();
  });

  it('lives on when only the container of a program was removed', async () => {
    await using sandbox = await open(target);
    await sandbox.writeFile('a', 'b');
    await Promise.allSettled([
      sandbox.exec(['sh', '-c', 'echo begun; exec sleep 100'], { onOutput: () => remove(ours('p1')) }),
    ]);
    expect(sandbox.ended).toBeUndefined();
    expect((await sandbox.exec(['cat', 'a'])).stdout).toBe('b');
  });
});

describe.each(inNamespaces)('a sandbox whose processes somebody kills: $name', (target) => {
  it('lives on: its files need no process', async () => {
    await using sandbox = await open(target);
    await sandbox.writeFile('a', 'b');
    const marker = randomUUID();
    const running = sandbox.exec(['sh', '-c', 'echo begun; exec sleep 100', marker], {
      onOutput: () => kill(marker),
    });
    await Promise.allSettled([running]);
    expect(sandbox.ended).toBeUndefined();
    expect((await sandbox.exec(['cat', 'a'])).stdout).toBe('b');
  });
});

/** The containers of this process whose names end with this. */
function ours(suffix: string): string[] {
  const list = ['ps', '--all', '--filter', 'label=io.glovebox.owner', '--format', '{{.Names}}'];
  return execFileSync('docker', list, { encoding: 'utf8' })
    .split('\n')
    .filter((name) => name.includes(`-${process.pid}-`) && name.endsWith(suffix));
}

function remove(names: readonly string[]): void {
  expect(names).toHaveLength(1);
  execFileSync('docker', ['rm', '--force', ...names], { stdio: 'ignore' });
}

/** Every process of this host with this text in its command line, except for this one. */
function kill(marker: string): void {
  const found = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(marker);
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });
  expect(found).not.toEqual([]);
  for (const pid of found) process.kill(Number(pid), 'SIGKILL');
}

describeMissing('a crash');
