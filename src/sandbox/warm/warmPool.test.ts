import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WarmRuntime } from '../../../tests/support/warmRuntime.ts';
import type { Policy } from '../../policy/policy.ts';
import type { WarmPoolOptions } from './poolOptions.ts';
import type { WarmEvent } from './poolState.ts';
import type { WarmKind } from './warmKey.ts';
import { type WarmGuest, WarmPool } from './warmPool.ts';

const limit = (value: number) => ({ value, default: true });

const POLICY: Policy = {
  ...{ network: 'none', networkIsDefault: true, requires: {} },
  limits: { memoryMb: limit(512), diskMb: limit(256), processes: limit(64), timeoutSec: limit(30) },
};

const PYTHON: WarmKind = { policy: POLICY, languages: ['python'], language: 'python', preload: [] };

let runtime: WarmRuntime;
let events: WarmEvent[];
const pools: WarmPool[] = [];

beforeEach(() => {
  vi.useFakeTimers({
    toFake: [
      ...(['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const),
      ...(['setImmediate', 'clearImmediate', 'performance'] as const),
    ],
  });
  runtime = new WarmRuntime();
  events = [];
});

afterEach(async () => {
  const closed = Promise.all(pools.splice(0).map((pool) => pool.close()));
  await pass(1);
  await closed;
  vi.useRealTimers();
});

function open(options: WarmPoolOptions = {}): WarmPool {
  const pool = new WarmPool({ ...options, onEvent: (event) => events.push(event) });
  pools.push(pool);
  return pool;
}

/** Time in which whatever is scheduled happens. */
async function pass(milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds);
}

/** One execution: what it got, and whether it was the first to have it. */
async function execute(pool: WarmPool, kind = PYTHON): Promise<WarmGuest | undefined> {
  await pool.enter();
  const warm = pool.take(runtime, kind);
  await warm?.over(() => warm.guest.destroy());
  pool.leave();
  return warm;
}

const types = () => events.map(({ type }) => type);

describe('WarmPool', () => {
  it('gives nothing at first, and one guest for exactly what was asked for from then on', async () => {
    const pool = open();
    expect(await execute(pool)).toBeUndefined();
    await pass(1);
    const warm = await execute(pool);
    expect(warm?.guest).toBe(runtime.made[0]?.guest);
    expect(runtime.made[0]?.spec).toEqual({
      ...{ id: warm?.id, policy: POLICY, languages: ['python'], singleUse: true },
      warm: { language: 'python', preload: [] },
    });
    expect(types()).toEqual(['missed', 'filled', 'taken']);
  });

  it('hands out none twice, and ends each after its use', async () => {
    const pool = open({ min: 2 });
    await pool.fill(runtime, PYTHON);
    const guests = new Set();
    for (let round = 0; round < 20; round++) {
      const warm = await execute(pool);
      expect(guests.has(warm?.guest)).toBe(false);
      guests.add(warm?.guest);
      await pass(1);
    }
    expect(guests.size).toBe(20);
    expect(runtime.made.filter(({ guest }) => guests.has(guest)).map(({ destroyed }) => destroyed)).toEqual(
      Array(20).fill(1),
    );
  });

  it('keeps kinds apart, and runtimes of the same name', async () => {
    const pool = open();
    await pool.fill(runtime, PYTHON);
    const open_: WarmKind = { ...PYTHON, policy: { ...POLICY, network: 'open' } };
    expect(pool.take(runtime, open_)).toBeUndefined();
    expect(pool.take(runtime, { ...PYTHON, preload: ['numpy'] })).toBeUndefined();
    expect(pool.take(new WarmRuntime(), PYTHON)).toBeUndefined();
    const warm = pool.take(runtime, { ...PYTHON });
    expect(warm?.guest).toBe(runtime.made[0]?.guest);
    await warm?.over(() => warm.guest.destroy());
  });

  it('makes nothing before the execution is over, unless that takes long', async () => {
    const pool = open();
    await pool.enter();
    expect(pool.take(runtime, PYTHON)).toBeUndefined();
    await pass(10);
    expect(runtime.made).toEqual([]);
    pool.leave();
    expect(runtime.made).toEqual([]);
    await pass(0);
    expect(runtime.made).toHaveLength(1);
    await pool.enter();
    const warm = pool.take(runtime, PYTHON);
    await pass(60);
    expect(runtime.made).toHaveLength(2);
    await warm?.over(() => warm.guest.destroy());
    pool.leave();
  });

  it('makes nothing beside the execution that takes what has just been made', async () => {
    const pool = open();
    // Takes it before the event loop turns, as whoever has waited for it does.
    const taken = pool.fill(runtime, PYTHON).then(async () => {
      await pool.enter();
      return pool.take(runtime, PYTHON);
    });
    const warm = await taken;
    expect(warm?.guest).toBe(runtime.made[0]?.guest);
    await pass(49);
    expect(runtime.made).toHaveLength(1);
    await pass(1);
    expect(runtime.made).toHaveLength(2);
    await warm?.over(() => warm.guest.destroy());
    pool.leave();
  });

  it('grows while it is found empty, up to its maximum, and shrinks when less is needed', async () => {
    const pool = open({ max: 3, idleSec: 100 });
    const target = () => pool.state().kinds[0]?.target;
    const targets = [];
    for (let round = 0; round < 5; round++) {
      pool.take(runtime, PYTHON);
      targets.push(target());
    }
    expect(targets).toEqual([1, 2, 3, 3, 3]);
    await pass(60);
    expect(pool.state()).toMatchObject({ idle: 3 });
    await pass(25_000);
    await execute(pool);
    await pass(50_000);
    expect(target()).toBe(1);
    expect(pool.state()).toMatchObject({ idle: 1 });
    expect(
      events.filter(({ type }) => type === 'discarded').map((event) => 'because' in event && event.because),
    ).toEqual(['surplus', 'surplus']);
  });

  it('gives up what nobody uses, and leaves no timer behind', async () => {
    const pool = open({ idleSec: 10, min: 2 });
    await pool.fill(runtime, PYTHON);
    await pass(9000);
    expect(runtime.alive).toHaveLength(2);
    await pass(5000);
    expect([runtime.alive.length, pool.state().kinds, vi.getTimerCount()]).toEqual([0, [], 0]);
  });

  it('replaces a guest that has waited too long', async () => {
    const pool = open({ idleSec: 1000, maxAgeSec: 100 });
    await pool.fill(runtime, PYTHON);
    await pass(101_000);
    const warm = pool.take(runtime, PYTHON);
    expect(warm).toBeUndefined();
    await pass(60);
    expect(runtime.made.map(({ destroyed }) => destroyed)).toEqual([1, 0, 0]);
  });

  it('lets what was used longest ago give way to memory', async () => {
    const pool = open({ memoryMb: 20 });
    // 7 MB for a runtime that is not known: two of them fit.
    const kinds = [1, 2, 3].map((memoryMb) => ({
      ...PYTHON,
      policy: { ...POLICY, limits: { ...POLICY.limits, memoryMb: limit(memoryMb) } },
    }));
    for (const kind of kinds) await pool.fill(runtime, kind);
    await pass(1);
    const idle = pool.state().kinds.map((kind) => kind.idle);
    expect([idle, pool.state().estimatedMb]).toEqual([[0, 1, 1], 14]);
    expect(runtime.made[0]?.destroyed).toBe(1);
  });

  it('lets whoever finds none wait for one that is on its way, and for no other', async () => {
    let come = (): void => {};
    runtime.until = new Promise((resolve) => {
      come = resolve;
    });
    const pool = open();
    pool.take(runtime, PYTHON);
    expect(await pool.next(runtime, PYTHON)).toBeUndefined();
    await pass(60);
    const first = pool.next(runtime, PYTHON);
    expect(await pool.next(runtime, PYTHON)).toBeUndefined();
    come();
    const warm = await first;
    expect(warm?.guest).toBe(runtime.made[0]?.guest);
    expect(pool.state()).toMatchObject({ inUse: 1 });
    await warm?.over(() => warm.guest.destroy());
  });

  it('lets everybody wait where one is made by a fork, in their order', async () => {
    runtime.warmedBy = 'fork_server';
    const pool = open();
    await pool.fill(runtime, PYTHON);
    const all = [
      pool.take(runtime, PYTHON),
      ...(await Promise.all([1, 2, 3].map(() => pool.next(runtime, PYTHON)))),
    ];
    expect(all.map((warm) => warm?.guest)).toEqual(runtime.made.slice(0, 4).map(({ guest }) => guest));
    expect(runtime.made.slice(0, 4).map(({ spec }) => spec.warm?.isAwaited)).toEqual([
      ...[undefined, true, true, true],
    ]);
    for (const warm of all) await warm?.over(() => warm.guest.destroy());
  });

  it('lets nobody else wait once somebody has waited in vain, until one comes', async () => {
    runtime.warmedBy = 'fork_server';
    const pool = open();
    await pool.fill(runtime, PYTHON);
    const warm = pool.take(runtime, PYTHON);
    runtime.until = new Promise((resolve) => void setTimeout(resolve, 5000));
    const first = pool.next(runtime, PYTHON);
    await pass(1000);
    expect(await first).toBeUndefined();
    expect(await pool.next(runtime, PYTHON)).toBeUndefined();
    await warm?.over(() => warm.guest.destroy());
    await pass(5000);
    const come = [pool.take(runtime, PYTHON), await pool.next(runtime, PYTHON)];
    expect(come.map((guest) => guest !== undefined)).toEqual([true, true]);
    for (const guest of come) await guest?.over(() => guest.guest.destroy());
  });

  it.each<[string, (pool: WarmPool, cancelled: AbortController) => unknown]>([
    ['it cannot be made', () => {}],
    ['it takes too long', () => pass(1000)],
    ['the pool is closed', (pool) => void pool.close()],
    ['its execution is cancelled', (_, cancelled) => cancelled.abort()],
  ])('lets nobody wait any longer when %s', async (why, happen) => {
    runtime.warmedBy = 'fork_server';
    const pool = open();
    await pool.fill(runtime, PYTHON);
    const warm = pool.take(runtime, PYTHON);
    if (why === 'it cannot be made') runtime.failCreate = new Error('No.');
    else runtime.until = new Promise((resolve) => void setTimeout(resolve, 2000));
    const cancelled = new AbortController();
    const waiting = pool.next(runtime, PYTHON, cancelled.signal);
    await happen(pool, cancelled);
    expect(await waiting).toBeUndefined();
    expect(pool.state()).toMatchObject({ inUse: 1 });
    await warm?.over(() => warm.guest.destroy());
    await pass(2000);
  });

  it('never asks again where a driver lets nothing wait, and ends what it gave', async () => {
    runtime.warmedBy = undefined;
    const pool = open();
    expect(await pool.fill(runtime, PYTHON)).toBeUndefined();
    await pass(1);
    for (let round = 0; round < 3; round++) {
      expect(await execute(pool)).toBeUndefined();
      await pass(100);
    }
    expect(runtime.made.map(({ destroyed }) => destroyed)).toEqual([1]);
    expect(pool.whyNot(runtime, PYTHON)).toBe('The runtime "warm" lets no interpreter for python wait.');
  });

  it('tries again after failures, each time later, and then not any more', async () => {
    runtime.failCreate = new Error('No.');
    const pool = open();
    const failures: number[] = [];
    for (let second = 0; second < 60; second++) {
      await execute(pool);
      await pass(1000);
      if (events.filter(({ type }) => type === 'failed').length > failures.length) failures.push(second);
    }
    expect(failures).toEqual([0, 1, 3, 7, 15]);
    expect(pool.whyNot(runtime, PYTHON)).toBe('It failed too often in a row: No.');
  });

  it('makes a new one where one ends while it waits', async () => {
    const pool = open();
    await pool.fill(runtime, PYTHON);
    runtime.made[0]?.lose();
    await pass(1);
    expect(pool.state()).toMatchObject({ idle: 0 });
    await pass(1000);
    await execute(pool);
    await pass(1);
    expect(pool.state()).toMatchObject({ idle: 2 });
    expect(runtime.made.map(({ destroyed }) => destroyed)).toEqual([1, 0, 0]);
  });

  it('stops for a kind whose guests cannot be ended', async () => {
    runtime.failDestroy = new Error('It is still there.');
    const pool = open({ min: 2 });
    await pool.fill(runtime, PYTHON);
    await execute(pool);
    await pass(1);
    expect(pool.state().kinds).toMatchObject([
      { idle: 0, stopped: 'One could not be ended: It is still there.' },
    ]);
    expect(runtime.made.map(({ destroyed }) => destroyed)).toEqual([1, 1]);
  });

  it('makes whoever ends one more wait while too many are dying', async () => {
    const pool = open({ maxDying: 1, min: 2 });
    await pool.fill(runtime, PYTHON);
    const [first, second] = [pool.take(runtime, PYTHON), pool.take(runtime, PYTHON)];
    let gone = (): void => {};
    const until = new Promise<void>((resolve) => {
      gone = resolve;
    });
    await first?.over(() => until);
    const order: string[] = [];
    const waiting = second?.over(() => until).then(() => order.push('went on'));
    await pass(1);
    order.push(`dying: ${pool.state().dying}`);
    gone();
    await waiting;
    expect(order).toEqual(['dying: 2', 'went on']);
  });

  it('starts cold without end where there is no limit, and refuses with its figures where there is', async () => {
    expect(await open().enter()).toBeUndefined();
    const pool = open({ maxConcurrent: 1 });
    await pool.enter();
    let entered = false;
    const waiting = Promise.resolve(pool.enter()).then(() => {
      entered = true;
    });
    expect(() => pool.enter()).toThrow(
      expect.objectContaining({ code: 'POOL_EXHAUSTED', details: { inUse: 1, waiting: 1, limit: 1 } }),
    );
    await pass(1);
    expect(entered).toBe(false);
    pool.leave();
    await waiting;
    expect(pool.state()).toMatchObject({ running: 1, waiting: 0 });
    pool.leave();
    expect(pool.state()).toMatchObject({ running: 0 });
  });

  it('lets a caller that gives up while it waits leave its place in the queue', async () => {
    const pool = open({ maxConcurrent: 1 });
    await pool.enter();
    const gaveUp = new AbortController();
    const waiting = pool.enter(gaveUp.signal);
    gaveUp.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(pool.state()).toMatchObject({ running: 1, waiting: 0 });
    pool.leave();
  });

  it('ends everything when it is closed: what waits, what is made, what is in use', async () => {
    const pool = open({ min: 2 });
    await pool.fill(runtime, PYTHON);
    const warm = pool.take(runtime, PYTHON);
    let isClosed = false;
    const closing = pool.close().then(() => {
      isClosed = true;
    });
    await pass(100);
    expect([isClosed, runtime.alive.length]).toEqual([false, 1]);
    await warm?.over(() => warm.guest.destroy());
    await pass(1);
    await closing;
    expect([runtime.alive.length, runtime.rested, vi.getTimerCount()]).toEqual([0, [1, 0], 0]);
    expect(pool.take(runtime, PYTHON)).toBeUndefined();
  });

  it('ends a guest that comes when it is closed already', async () => {
    let come = (): void => {};
    runtime.until = new Promise((resolve) => {
      come = resolve;
    });
    // A driver that does not look at its signal.
    const create = runtime.create.bind(runtime);
    runtime.create = (spec) => create(spec);
    const pool = open();
    await execute(pool);
    await pass(1);
    const closing = pool.close();
    come();
    await pass(1);
    await closing;
    expect(runtime.made.map(({ destroyed }) => destroyed)).toEqual([1]);
  });

  it('is drained when the process has nothing else to do, and listens no longer then', async () => {
    const before = process.listenerCount('beforeExit');
    const pool = open({ min: 2 });
    await pool.fill(runtime, PYTHON);
    expect(process.listenerCount('beforeExit')).toBe(before + 1);
    process.emit('beforeExit', 0);
    await pass(1);
    expect([runtime.alive.length, process.listenerCount('beforeExit')]).toEqual([0, before]);
  });

  it('goes on when a listener throws', async () => {
    const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const pool = new WarmPool({
      onEvent: () => {
        throw new Error('mine');
      },
    });
    pools.push(pool);
    expect(await pool.fill(runtime, PYTHON)).toBe('waiting_interpreter');
    expect(warnings).toHaveBeenCalled();
    warnings.mockRestore();
  });

  it('counts what it did', async () => {
    const pool = open();
    await execute(pool);
    await pass(1);
    await execute(pool);
    await pass(1);
    const counts = { taken: 1, missed: 1, made: 2, failed: 0 };
    const name = { runtime: 'warm', language: 'python' };
    expect(pool.state()).toEqual({
      kinds: [
        { ...name, ...counts, preload: [], warmedBy: 'waiting_interpreter', target: 1, idle: 1, inUse: 0 },
      ],
      totals: [{ ...name, ...counts }],
      ...{ idle: 1, inUse: 0, dying: 0, running: 0, waiting: 0, estimatedMb: 7 },
    });
  });
});
