/** What starts the processes of sandboxes is a process of its own: what becomes of it, and of them, when something ends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { getSandbox, type SandboxOptions } from '../../src/index.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/traces.ts';
import { ensureBuilt, REPOSITORY } from './support/build.ts';
import { describeWith, type Need } from './support/needs.ts';

/** The ways to run a program, and what is said of one whose end was the starter's. */
const WAYS: readonly [string, readonly Need[], string, unknown][] = [
  ['in namespaces', ['bubblewrap'], 'namespace', { code: 'SANDBOX_FAILED' }],
  ['as a plain process', ['linux'], 'none', { outcome: 'killed', signal: 9 }],
];

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'starter-test-'));
  await ensureBuilt();
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function startersOf(pid: number): number[] {
  const name = `glovebox-starter ${pid}`;
  // Others' have the same beginning of a name.
  return processesWith(name).flatMap((starter) => (starter.command.includes(name) ? [starter.pid] : []));
}

/** Sleeps until somebody ends it; its command line holds a text that no other's does. */
function sleeper(mark: string): string {
  return `import os; print(1, flush=True); os.execv('/bin/sleep', ['sleep-${mark}', '1000'])`;
}

function sleepers(mark: string): number {
  return processesWith(`sleep-${mark}`).filter(({ command }) => command.startsWith(`sleep-${mark}`)).length;
}

for (const [way, needs, isolation, expected] of WAYS) {
  describeWith(needs, `programs that run ${way}`, () => {
    const options = (): SandboxOptions => {
      process.env['SANDBOX_LOCAL_ISOLATION'] = isolation;
      onTestFinished(() => {
        delete process.env['SANDBOX_LOCAL_ISOLATION'];
      });
      return { runtime: 'local', cwd: folder };
    };

    it('end when somebody kills the starter, which is told, and the next one has another', async () => {
      const sandbox = getSandbox(options());
      const mark = `killed-${isolation}`;
      let hasStarted = (): void => {};
      const started = new Promise<void>((resolve) => {
        hasStarted = resolve;
      });
      const running = sandbox.execute(sleeper(mark), { onOutput: hasStarted }).catch((error) => error);
      await started;
      await eventually('it sleeps', () => sleepers(mark) > 0);
      const [starter = 0, ...others] = startersOf(process.pid);
      expect(others).toEqual([]);
      process.kill(starter, 'SIGKILL');
      const result = await running;
      expect(result.meta ? { outcome: result.outcome, signal: result.meta.signal } : result).toMatchObject(
        expected as object,
      );
      expect(sleepers(mark)).toBe(0);
      expect((await sandbox.execute('print(2)')).stdout).toBe('2\n');
      expect(startersOf(process.pid)).not.toContain(starter);
      await sandbox.close();
    });

    it('are started many at once, and leave no descriptor open', async () => {
      const sandbox = getSandbox(options());
      const run = async (count: number): Promise<string[]> =>
        Promise.all(
          Array.from(
            { length: count },
            async (_, index) => (await sandbox.execute(`print(${index})`)).stdout,
          ),
        );
      await run(12);
      const open = (): number => readdirSync('/proc/self/fd').length;
      // As many pipes are kept in stock as are made at once.
      const most = open() + 64;
      for (let round = 0; round < 3; round++) {
        expect(await run(12)).toEqual(Array.from({ length: 12 }, (_, index) => `${index}\n`));
      }
      await nextTurn();
      expect(open()).toBeLessThanOrEqual(most);
      const [starter] = startersOf(process.pid);
      await eventually('the starter holds nothing', () => readdirSync(`/proc/${starter}/fd`).length === 6);
      await sandbox.close();
    });

    it('are started by a thread too, and end with it', async () => {
      const mark = `thread-${isolation}`;
      const code = `(async () => {
          const { parentPort } = require('node:worker_threads');
          const { getSandbox } = await import(${JSON.stringify(join(REPOSITORY, 'dist/index.js'))});
          const sandbox = getSandbox({ runtime: 'local', cwd: ${JSON.stringify(folder)} });
          parentPort.postMessage((await sandbox.execute('print(1)')).stdout);
          await sandbox.execute(${JSON.stringify(sleeper(mark))});
        })();`;
      const worker = new Worker(code, {
        ...{ eval: true, execArgv: [], env: { ...process.env, SANDBOX_LOCAL_ISOLATION: isolation } },
        // Node would close numbers at its end that are somebody else's by then: it does not see sockets close theirs.
        trackUnmanagedFds: false,
      });
      const [said] = await once(worker, 'message');
      expect(said).toBe('1\n');
      await eventually('it sleeps', () => sleepers(mark) > 0);
      await worker.terminate();
      await eventually('it is gone', () => sleepers(mark) === 0);
    });

    it('end when the host program is killed, and so does the starter', async () => {
      const mark = `host-${isolation}`;
      const host = spawn(
        process.execPath,
        [
          '--input-type=module',
          '-e',
          `const { getSandbox } = await import(${JSON.stringify(join(REPOSITORY, 'dist/index.js'))});
           await getSandbox({ runtime: 'local' }).execute(${JSON.stringify(sleeper(mark))});`,
        ],
        { cwd: folder, env: { ...process.env, SANDBOX_LOCAL_ISOLATION: isolation }, stdio: 'ignore' },
      );
      onTestFinished(() => void host.kill('SIGKILL'));
      await eventually('it sleeps', () => sleepers(mark) > 0);
      expect(startersOf(host.pid ?? 0)).toHaveLength(1);
      host.kill('SIGKILL');
      await eventually('both are gone', () => sleepers(mark) === 0);
      await eventually('its starter is gone', () => startersOf(host.pid ?? 0).length === 0);
    });
  });
}
