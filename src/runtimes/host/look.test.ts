import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Guest } from '../runtime.ts';
import { LOOK, lookFrom, parseLook } from './look.ts';

describe('a look inside', () => {
  it('finds what this machine has, as it would in an image', () => {
    const { stdout } = spawnSync('/bin/sh', ['-c', LOOK], { env: { PATH: '/usr/bin:/bin' } });
    const look = parseLook(stdout.toString());
    expect(look?.facts.get('kernel')).toMatch(/^\d+\./);
    expect(look?.facts.get('CapEff')).toMatch(/^[0-9a-f]{16}$/);
    expect(look?.interpreters.get('shell')).toEqual({
      path: expect.stringMatching(/^\/.*bash$/),
      version: expect.stringMatching(/^\d+\.\d+/),
    });
  });

  it('leaves out a language that is not there or does not run', () => {
    const { stdout } = spawnSync('/bin/sh', ['-c', LOOK], { env: { PATH: '/nowhere' } });
    expect(parseLook(stdout.toString())?.interpreters.size ?? 0).toBe(0);
    expect(parseLook('language python\nError: no\n\nlanguage end\nend\n')?.interpreters.size).toBe(0);
  });

  it('is nothing when it was cut off', () => {
    expect(parseLook('fact kernel 6.1\nlanguage python\n/usr/bin/python3')).toBeUndefined();
  });

  it('does not read on for ever', async () => {
    let flooding = true;
    const flood = Readable.from(
      (function* () {
        while (flooding) yield Buffer.alloc(4096, 'x');
      })(),
    );
    const program = {
      stdout: flood,
      stderr: Readable.from([]),
      exit: once(flood, 'close').then(() => ({ code: 137, outOfMemory: false })),
      kill: async () => {
        flooding = false;
      },
    };
    const guest = { environment: {}, spawn: async () => program } as unknown as Guest;
    const { said, code } = await lookFrom(guest);
    expect(code).toBe(137);
    expect(said.length).toBeLessThan(100_000);
    expect(parseLook(said)).toBeUndefined();
  });
});
