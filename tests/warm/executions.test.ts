/** Executions through the public API with a driver whose interpreters wait: what holds for every such driver. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SandboxError } from '../../src/errors.ts';
import { getSandbox } from '../../src/operations/getSandbox.ts';
import { SandboxManager } from '../../src/operations/sandboxManager.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { eventually } from '../support/eventually.ts';
import { cgroupsOf, childrenOf, NO_TRACES, tracesOf } from '../support/traces.ts';
import { WarmRuntime } from '../support/warmRuntime.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warm-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe('an execution where sandboxes are kept ready', () => {
  it('runs in one that was made before, and says so; without, it says nothing', async () => {
    const runtime = new WarmRuntime();
    await using sandbox = getSandbox({ runtime, cwd: folder, warm: true });
    expect(await sandbox.warmUp()).toEqual({ warmedBy: 'waiting_interpreter' });
    const warm = await sandbox.execute('');
    expect([warm.meta.warm, warm.meta.sandboxId, warm.stdout]).toEqual([
      'waiting_interpreter',
      runtime.made[0]?.spec.id,
      runtime.made[0]?.spec.id,
    ]);
    const cold = await getSandbox({ runtime, cwd: folder }).execute('');
    expect([cold.ok, 'warm' in cold.meta]).toEqual([true, false]);
  });

  it('has its guest to itself, and leaves none behind', async () => {
    const runtime = new WarmRuntime();
    await using sandbox = getSandbox({ runtime, cwd: folder, warm: { max: 4 } });
    await sandbox.warmUp();
    const results = [];
    for (let round = 0; round < 30; round++) {
      results.push(...(await Promise.all([sandbox.execute(''), sandbox.execute('')])));
    }
    const ids = results.map(({ meta }) => meta.sandboxId);
    expect(new Set(ids).size).toBe(60);
    expect(results.some(({ meta }) => meta.warm !== undefined)).toBe(true);
    expect(Math.max(...runtime.made.map(({ spawned }) => spawned))).toBe(1);
    await sandbox.close();
    expect(runtime.made.map(({ destroyed }) => destroyed)).toEqual(runtime.made.map(() => 1));
    expect(sandbox.warmState()).toMatchObject({ kinds: [], idle: 0, inUse: 0, dying: 0 });
  });

  it('never gets a guest of another policy, language or kind of start', async () => {
    const runtime = new WarmRuntime();
    await using sandbox = getSandbox({ runtime, cwd: folder, warm: true });
    await sandbox.warmUp();
    const others = [
      { memoryMb: 64 },
      { timeout: 7 },
      { network: 'open' },
      { requires: { seccomp: true } },
      { language: 'javascript' },
      { collect: ['a'] },
      { env: { PYTHONPATH: '/x' } },
      { files: { 'json.py': '' } },
    ] as const;
    const taken = async (asked: (typeof others)[number] | undefined) => {
      const { meta } = await sandbox.execute('', asked);
      return meta.warm;
    };
    const got = [];
    for (const asked of others) got.push(await taken(asked));
    expect(got).toEqual(others.map(() => undefined));
    expect(runtime.made[0]?.spawned).toBe(0);
    expect(await taken(undefined)).toBe('waiting_interpreter');
    expect(runtime.made[0]?.spawned).toBe(1);
    const served = runtime.made.filter(({ spec, spawned }) => spec.warm !== undefined && spawned > 0);
    expect(served.map(({ spec }) => spec.policy.limits.memoryMb.value)).toEqual([512]);
  });

  it('starts cold where the one that waited is gone', async () => {
    const runtime = new WarmRuntime();
    runtime.failSpawn = new SandboxError('SANDBOX_FAILED', 'It is gone.', { hint: 'None.' });
    await using sandbox = getSandbox({ runtime, cwd: folder, warm: true });
    await sandbox.warmUp();
    const { ok, meta } = await sandbox.execute('');
    expect([ok, meta.warm, sandbox.warmState()?.totals[0]?.failed]).toEqual([true, undefined, 1]);
  });

  it('starts cold with a driver that lets nothing wait, and says why', async () => {
    const runtime = new WarmRuntime('plain');
    runtime.warmedBy = undefined;
    await using sandbox = getSandbox({ runtime, cwd: folder, warm: true });
    expect(await sandbox.warmUp()).toEqual({
      because: 'The runtime "plain" lets no interpreter for python wait.',
    });
    expect((await sandbox.execute('')).ok).toBe(true);
    expect(await sandbox.warmUp({ collect: ['a'] })).toEqual({
      because: 'Such an execution starts cold: files are collected.',
    });
  });

  it('refuses beyond a limit, and takes it again afterwards', async () => {
    const runtime = new WarmRuntime();
    let go = (): void => {};
    runtime.until = new Promise((resolve) => {
      go = resolve;
    });
    await using sandbox = getSandbox({ runtime, cwd: folder, warm: { maxConcurrent: 1 } });
    const [running, waiting] = [sandbox.execute(''), sandbox.execute('')];
    await eventually('one waits', () => sandbox.warmState()?.waiting === 1);
    await expect(sandbox.execute('')).rejects.toMatchObject({
      ...{ code: 'POOL_EXHAUSTED', details: { inUse: 1, waiting: 1, limit: 1 } },
    });
    go();
    expect([(await running).ok, (await waiting).ok, (await sandbox.execute('')).ok]).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('is refused once it was closed', async () => {
    const sandbox = getSandbox({ runtime: new WarmRuntime(), cwd: folder, warm: true });
    await sandbox.execute('');
    await sandbox.close();
    await expect(sandbox.execute('')).rejects.toMatchObject({ code: 'SANDBOX_CLOSED' });
  });
});

describe('a manager', () => {
  it('keeps sandboxes ready for single executions, and ends them with itself', async () => {
    const runtime = new WarmRuntime();
    const manager = new SandboxManager({ runtime, cwd: folder });
    await manager.execute('');
    await eventually('one is ready', () => manager.warmState()?.idle === 1);
    expect((await manager.execute('')).meta.warm).toBe('waiting_interpreter');
    await manager.close();
    expect(runtime.alive).toEqual([]);
    await expect(manager.execute('')).rejects.toMatchObject({ code: 'SANDBOX_CLOSED' });
  });

  it('keeps none where it is told so', async () => {
    const runtime = new WarmRuntime();
    await using manager = new SandboxManager({ runtime, cwd: folder, warm: false });
    for (let round = 0; round < 3; round++) await manager.execute('');
    expect([manager.warmState(), runtime.made.some(({ spec }) => spec.warm)]).toEqual([undefined, false]);
  });
});

describeWith(['bubblewrap'], 'an execution with real files and processes', () => {
  it('finds nothing of the one before it', async () => {
    await using sandbox = getSandbox({ runtime: 'bubblewrap', cwd: folder, warm: true });
    const leave = 'import os; open("left", "w"); open("/tmp/left", "w"); print(os.listdir("."))';
    const look = 'import os; print(sorted(os.listdir(".")), os.listdir("/tmp"))';
    await sandbox.warmUp();
    const first = await sandbox.execute(leave);
    await sandbox.warmUp();
    const second = await sandbox.execute(look);
    const warm = expect.stringMatching(/^(fork_server|waiting_interpreter)$/);
    expect([first.meta.warm, second.meta.warm]).toEqual([warm, warm]);
    expect(first.stdout).toContain("'left'");
    expect(second.stdout).toBe("['main.py'] []\n");
    expect(first.meta.sandboxId).not.toBe(second.meta.sandboxId);
  });

  it('is held by the limits of its own policy, whatever waits besides', async () => {
    await using sandbox = getSandbox({ runtime: 'bubblewrap', cwd: folder, warm: true });
    const diskMb = [16, 32];
    for (const disk of diskMb) await sandbox.warmUp({ diskMb: disk });
    const held = [];
    for (const disk of diskMb) {
      const { meta } = await sandbox.execute('print(1)', { diskMb: disk });
      held.push([meta.warm !== undefined, meta.enforced?.limits.diskMb.value]);
    }
    expect(held).toEqual(diskMb.map((disk) => [true, disk]));
  });
});

describeWith(['bubblewrap', 'cgroups'], 'a process that keeps sandboxes ready and closes nothing', () => {
  it('ends when it has nothing else to do, and leaves nothing', async () => {
    const code = `
      import { getSandbox } from ${JSON.stringify(import.meta.resolve('../../src/operations/getSandbox.ts'))};
      const sandbox = getSandbox({ runtime: 'bubblewrap', warm: { min: 2 } });
      await sandbox.warmUp();
      const { stdout, meta } = await sandbox.execute('print("ran")');
      await sandbox.warmUp();
      process.stdout.write(stdout.trim() + ' ' + meta.warm + '\\n');
      process.stdin.resume();`;
    const tsx = import.meta.resolve('tsx');
    const child = spawn(process.execPath, ['--import', tsx, '--input-type=module', '-e', code], {
      ...{ cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] },
    });
    const ended = once(child, 'close');
    const [said] = await once(child.stdout, 'data');
    expect(String(said)).toMatch(/^ran (fork_server|waiting_interpreter)\n$/);
    const pid = child.pid as number;
    expect([cgroupsOf(pid).length > 0, childrenOf(pid).length > 0]).toEqual([true, true]);
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
    expect(tracesOf(pid)).toEqual(NO_TRACES);
  });
});
