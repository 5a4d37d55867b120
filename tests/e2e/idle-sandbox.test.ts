import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { createSandbox, getSandbox } from '../../src/index.ts';
import { eventually } from '../support/eventually.ts';
import { childrenOf } from '../support/traces.ts';
import { ensureBuilt, REPOSITORY } from './support/build.ts';
import { describeWith, type Need } from './support/needs.ts';

/** A sandbox that nobody has run anything in yet has a process that waits to become its first program. */
const WAYS: readonly [string, readonly Need[], string][] = [
  ['in namespaces', ['bubblewrap'], 'namespace'],
  ['as a plain process', ['linux'], 'none'],
];

let folder: string;
beforeAll(ensureBuilt, 120_000);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'idle-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

for (const [way, needs, isolation] of WAYS) {
  describeWith(needs, `a sandbox that runs programs ${way}`, () => {
    function startHolder(afterwards: string): ChildProcess {
      const script = `
        const { createSandbox } = await import(${JSON.stringify(join(REPOSITORY, 'dist/index.js'))});
        const sandbox = await createSandbox();
        console.log('made');
        ${afterwards}`;
      const holder = spawn(process.execPath, ['--input-type=module', '-e', script], {
        env: {
          PATH: process.env['PATH'],
          HOME: folder,
          TMPDIR: folder,
          SANDBOX_LOCAL_ISOLATION: isolation,
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void holder.kill('SIGKILL'));
      return holder;
    }

    it('does not keep the process alive that forgot it, and leaves no process', async () => {
      const holder = startHolder('');
      const [code] = await once(holder, 'exit');
      expect(code).toBe(0);
      await eventually('nobody waits any more', () => processesIn(folder, holder.pid).length === 0);
    });

    it('leaves no process when the one that made it is killed', async () => {
      const holder = startHolder('setInterval(() => {}, 1000);');
      await once(holder.stdout as NodeJS.ReadableStream, 'data');
      await eventually('somebody waits', () => pidsBelow(holder.pid).length > 0);
      const waiting = pidsBelow(holder.pid);
      holder.kill('SIGKILL');
      await once(holder, 'exit');
      await eventually('nobody waits any more', () => waiting.every((pid) => !isAlive(pid)));
    });

    it('leaves no process when it is closed without having run anything', async () => {
      process.env['SANDBOX_LOCAL_ISOLATION'] = isolation;
      try {
        const before = pidsBelow(process.pid);
        const sandbox = await createSandbox({ cwd: folder });
        await eventually('somebody waits', () => pidsBelow(process.pid).length > before.length);
        await sandbox.close();
        expect(pidsBelow(process.pid).filter((pid) => !before.includes(pid))).toEqual([]);
      } finally {
        delete process.env['SANDBOX_LOCAL_ISOLATION'];
      }
    });

    it('still runs programs when somebody has killed the process that waits', async () => {
      process.env['SANDBOX_LOCAL_ISOLATION'] = isolation;
      try {
        const before = pidsBelow(process.pid);
        await using sandbox = await createSandbox({ cwd: folder });
        const others = (): number[] => pidsBelow(process.pid).filter((pid) => !before.includes(pid));
        await eventually('somebody waits', () => others().length === 1);
        const waiting = others();
        for (const pid of waiting) process.kill(pid, 'SIGKILL');
        await eventually('it is gone', () => !waiting.some(isThere));
        const result = await sandbox.execute('print(1)');
        expect(result).toMatchObject({ ok: true, stdout: '1\n' });
      } finally {
        delete process.env['SANDBOX_LOCAL_ISOLATION'];
      }
    });

    it('refuses what no program can be given, runs nothing and works afterwards', async () => {
      process.env['SANDBOX_LOCAL_ISOLATION'] = isolation;
      try {
        const sandbox = getSandbox({ cwd: folder });
        const long = 'x'.repeat(140_000);
        for (const options of [
          { args: [long] },
          { env: { LONG: long } },
          { args: Array.from({ length: 90 }, () => 'y'.repeat(100_000)) },
        ]) {
          await expect(sandbox.execute('print(1)', options)).rejects.toMatchObject({
            code: 'INPUT_INVALID',
            message: expect.stringContaining('too long'),
          });
        }
        const fits = Array.from({ length: 10 }, () => 'z'.repeat(100_000));
        const result = await sandbox.execute('import sys; print(len("".join(sys.argv[1:])))', {
          args: fits,
        });
        expect(result).toMatchObject({ ok: true, stdout: '1000000\n' });
      } finally {
        delete process.env['SANDBOX_LOCAL_ISOLATION'];
      }
    });
  });
}

function pidsBelow(parent: number | undefined): number[] {
  return childrenOf(parent ?? 0).map(({ pid }) => pid);
}

/** Processes whose command line or working folder is in the folder, or whose parent is the given one. */
function processesIn(path: string, parent: number | undefined): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent || read(`${pid}/cmdline`).includes(path));
}

function parentOf(pid: number): number | undefined {
  const stat = read(`${pid}/stat`);
  const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
  return parent === undefined ? undefined : Number(parent);
}

function isThere(pid: number): boolean {
  return read(`${pid}/stat`) !== '';
}

function isAlive(pid: number): boolean {
  const stat = read(`${pid}/stat`);
  return stat !== '' && !/\) [ZX] /.test(stat);
}

function read(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'latin1');
  } catch {
    return '';
  }
}
