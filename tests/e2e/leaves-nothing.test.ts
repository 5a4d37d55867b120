import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { cgroupsOf, foldersIn, type HostProcess, mountsOf, processesWith } from '../support/traces.ts';
import { type Running, useCommand } from './support/command.ts';
import { describeWith, type Need } from './support/needs.ts';

const glovebox = useCommand();

const WAYS: readonly [string, readonly Need[], Readonly<Record<string, string>>][] = [
  ['in namespaces', ['bubblewrap'], { SANDBOX_LOCAL_ISOLATION: 'namespace' }],
  ['as a plain process', ['linux', 'cgroups'], { SANDBOX_LOCAL_ISOLATION: 'none' }],
];

/** Says that it is there, with a child, and runs until somebody ends it. */
const ENDLESS = `
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]], start_new_session=True)
print("ready", flush=True)
time.sleep(600)
`;

interface Traces {
  readonly processes: readonly HostProcess[];
  readonly folders: readonly string[];
  readonly cgroups: readonly string[];
  readonly mounts: readonly string[];
}

const NOTHING: Traces = { processes: [], folders: [], cgroups: [], mounts: [] };

function tracesOf(pid: number, nonce: string): Traces {
  return {
    processes: processesWith(nonce),
    folders: foldersIn(glovebox.temporary),
    cgroups: cgroupsOf(pid),
    mounts: mountsOf(pid),
  };
}

for (const [way, needs, env] of WAYS) {
  describeWith(needs, `a program that runs ${way}`, () => {
    async function startEndless(flags: readonly string[] = []): Promise<Running & { nonce: string }> {
      const nonce = `nonce-${crypto.randomUUID()}`;
      const running = await glovebox.start(['run', ...flags, '-c', ENDLESS, '--', nonce], { env });
      await running.prints('ready');
      return { ...running, nonce };
    }

    it('leaves nothing behind when it ends, and is seen while it runs', async () => {
      const nonce = `nonce-${crypto.randomUUID()}`;
      const code = 'print("ready", flush=True); input(); open("file.txt", "w").write("x")';
      const running = await glovebox.start(['run', '-c', code, '--', nonce], { env, stdin: 'open' });
      await running.prints('ready');
      const during = tracesOf(running.pid, nonce);
      expect(during.processes.length).toBeGreaterThan(1);
      if (env['SANDBOX_LOCAL_ISOLATION'] === 'none') {
        expect(during.folders).toHaveLength(1);
        expect(during.cgroups).not.toEqual([]);
      }
      running.stdin?.end('\n');
      expect((await running.finished).status).toBe(0);
      expect(tracesOf(running.pid, nonce)).toEqual(NOTHING);
    });

    it('leaves nothing behind when it fails', async () => {
      const nonce = `nonce-${crypto.randomUUID()}`;
      const { pid, status } = await glovebox.run(['run', '-c', 'raise ValueError', '--', nonce], {
        env: { ...env, SANDBOX_STORE_CODE: 'never' },
      });
      expect(status).toBe(1);
      expect(tracesOf(pid, nonce)).toEqual(NOTHING);
    });

    it('leaves nothing behind when its time was over', async () => {
      const { pid, nonce, finished } = await startEndless(['--timeout', '1']);
      expect((await finished).status).toBe(124);
      expect(tracesOf(pid, nonce)).toEqual(NOTHING);
    });

    it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('leaves nothing behind after %s', async (signal) => {
      const { pid, nonce, finished } = await startEndless();
      process.kill(pid, signal);
      expect((await finished).status).toBe(130);
      expect(tracesOf(pid, nonce)).toEqual(NOTHING);
    });

    it('leaves nothing that prune does not remove when the command itself is killed', async () => {
      const { pid, nonce, finished } = await startEndless();
      process.kill(pid, 'SIGKILL');
      expect((await finished).signal).toBe('SIGKILL');
      const { status } = await glovebox.run(['prune'], { env });
      expect(status).toBe(0);
      await eventually('what was killed is gone', () => processesWith(nonce).length === 0);
      expect(tracesOf(pid, nonce)).toEqual(NOTHING);
    });
  });
}

describeWith(['bubblewrap'], 'a program in namespaces whose command is killed', () => {
  it('dies with it, before anybody prunes', async () => {
    const nonce = `nonce-${crypto.randomUUID()}`;
    const running = await glovebox.start(['run', '-c', ENDLESS, '--', nonce], {
      env: { SANDBOX_LOCAL_ISOLATION: 'namespace' },
    });
    await running.prints('ready');
    process.kill(running.pid, 'SIGKILL');
    await running.finished;
    await eventually('every process of the program is gone', () => processesWith(nonce).length === 0);
    expect({ folders: foldersIn(glovebox.temporary), mounts: mountsOf(running.pid) }).toEqual({
      folders: [],
      mounts: [],
    });
    await glovebox.run(['prune']);
    expect(cgroupsOf(running.pid)).toEqual([]);
  });
});

describeWith(['linux'], 'a plain process whose command is killed', () => {
  it('leaves its folder, which prune removes and counts, and leaves the one of a command that runs', async () => {
    const env = { SANDBOX_LOCAL_ISOLATION: 'none' };
    const nonce = `nonce-${crypto.randomUUID()}`;
    const killed = await glovebox.start(['run', '-c', ENDLESS, '--', nonce], { env });
    await killed.prints('ready');
    process.kill(killed.pid, 'SIGKILL');
    await killed.finished;
    expect(foldersIn(glovebox.temporary)).toHaveLength(1);
    // It would remove the other's folder itself, as every run does.
    const alive = await glovebox.start(['run', '-c', 'print("ready", flush=True); print(input())'], {
      env: { ...env, TMPDIR: glovebox.folder },
      stdin: 'open',
    });
    await alive.prints('ready');
    const { stdout } = await glovebox.run(['prune', '--json'], { env });
    expect(JSON.parse(stdout).total).toBeGreaterThan(0);
    expect(foldersIn(glovebox.temporary)).toEqual([]);
    await glovebox.run(['prune'], { env: { ...env, TMPDIR: glovebox.folder } });
    expect(foldersIn(glovebox.folder)).toHaveLength(1);
    alive.stdin?.end('still here\n');
    expect((await alive.finished).stdout).toBe('ready\nstill here\n');
  });
});
