/** Executions through the public API with a driver whose interpreters wait: what holds for every such driver. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SandboxError } from '../../src/errors.ts';
import { getSandbox } from '../../src/operations/getSandbox.ts';
import { SandboxManager } from '../../src/operations/sandboxManager.ts';
import { bubblewrap } from '../../src/runtimes/bubblewrap/index.ts';
import type { Guest, Runtime } from '../../src/runtimes/runtime.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { eventually } from '../support/eventually.ts';
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

/** The real driver, whose guests are said to wait: what they are used for shows in real files and processes. */
function saidToBeWarm(real: Runtime): Runtime {
  return {
    name: real.name,
    probe: (signal) => real.probe(signal),
    async create({ warm, ...spec }, signal) {
      const guest = await real.create(spec, signal);
      return warm === undefined ? guest : waiting(guest);
    },
  };
}

function waiting(guest: Guest): Guest {
  return new Proxy(guest, {
    get(target, name) {
      if (name === 'warmedBy') return 'waiting_interpreter';
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describeWith(['bubblewrap'], 'an execution with real files and processes', () => {
  it('finds nothing of the one before it', async () => {
    const runtime = saidToBeWarm(bubblewrap());
    await using sandbox = getSandbox({ runtime, cwd: folder, warm: true });
    const leave = 'open("left", "w"); open("/tmp/left", "w"); import os; print(os.listdir("."))';
    const look = 'import os; print(sorted(os.listdir(".")), os.listdir("/tmp"))';
    await sandbox.warmUp();
    const first = await sandbox.execute(leave);
    await sandbox.warmUp();
    const second = await sandbox.execute(look);
    expect([first.meta.warm, second.meta.warm]).toEqual(['waiting_interpreter', 'waiting_interpreter']);
    expect(first.stdout).toContain("'left'");
    expect(second.stdout).toBe("['main.py'] []\n");
  });
});
