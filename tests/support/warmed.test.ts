import { describe, expect, it } from 'vitest';
import { findLanguage } from '../../src/languages/index.ts';
import type { Command, Guest } from '../../src/runtimes/runtime.ts';
import { openGuest } from './guests.ts';
import { warmed } from './warmed.ts';
import { WarmRuntime } from './warmRuntime.ts';

const FORKED = { python: 'fork_server' } as const;

async function plainProgram(guest: Guest): Promise<Command> {
  const { path } = await guest.interpreter('python');
  return {
    argv: findLanguage('python').command(path, `${guest.workspace}/main.py`, ['argument']),
    env: guest.environment,
  };
}

describe('guests each of whose programs is warm', () => {
  it.each([
    ['none', undefined],
    ['another one', 'waiting_interpreter' as const],
  ])('are not to be had where the interpreter comes to wait by no way, or another: %s', async (_, way) => {
    const runtime = new WarmRuntime();
    runtime.warmedBy = way;
    await expect(openGuest(warmed(runtime, FORKED))).rejects.toThrow('did not wait as "fork_server"');
    expect(runtime.alive).toEqual([]);
  });

  it('start each program in a guest of its own, and none in a cold one', async () => {
    const runtime = new WarmRuntime();
    runtime.warmedBy = 'fork_server';
    const guest = await openGuest(warmed(runtime, FORKED));
    await guest.spawn(await plainProgram(guest));
    await guest.spawn(await plainProgram(guest));
    expect(runtime.made.map(({ spec, spawned }) => [spec.warm?.language, spec.singleUse, spawned])).toEqual([
      ['python', true, 1],
      ['python', true, 1],
    ]);
    runtime.warmedBy = undefined;
    await expect(guest.spawn(await plainProgram(guest))).rejects.toThrow('did not wait');
    await guest.destroy();
    expect([runtime.alive, runtime.rested]).toEqual([[], [0]]);
  });

  it('start what nobody waits for as ever: commands, and other languages', async () => {
    const runtime = new WarmRuntime();
    runtime.warmedBy = 'fork_server';
    const guest = await openGuest(warmed(runtime, FORKED));
    await guest.spawn({ argv: ['/bin/sh', '-c', 'true'], env: {} });
    expect(runtime.made.map(({ spec, spawned }) => [spec.warm?.language, spawned])).toEqual([
      ['python', 0],
      [undefined, 1],
    ]);
  });

  it('hold a program to limits of its own', async () => {
    const runtime = new WarmRuntime();
    runtime.warmedBy = 'fork_server';
    const guest = await openGuest(warmed(runtime, FORKED), { limits: { memoryMb: 200 } });
    await guest.spawn({ ...(await plainProgram(guest)), limits: { memoryMb: 100 } });
    expect(runtime.made.map(({ spec, spawned }) => [spec.policy.limits.memoryMb.value, spawned])).toEqual([
      [200, 0],
      [100, 1],
    ]);
  });
});
