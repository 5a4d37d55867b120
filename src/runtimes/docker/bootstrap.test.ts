import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shellWord } from '../host/shellWord.ts';
import { trialSpec } from '../host/trialSpec.ts';
import { BOOTSTRAP, type FirstOrders, STARTED, writeOrders } from './bootstrap.ts';
import { limitsInShell } from './container.ts';

const SHELLS = ['/bin/dash', '/bin/bash', '/bin/busybox'].filter(existsSync);

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bootstrap-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const orders: FirstOrders = {
  files: new Map(),
  unset: [],
  environment: { PATH: '/usr/bin:/bin' },
  argv: ['/bin/cat'],
  limits: [],
  pipes: false,
};

const { policy: POLICY } = trialSpec();

const PRINT_LIMITS = `
import json, resource
print(json.dumps({name: resource.getrlimit(getattr(resource, 'RLIMIT_' + name)) for name in ('CORE', 'NOFILE', 'FSIZE', 'CPU')}))`;

/** Runs it as an engine does: with a pipe to read from, and nothing of ours around it. */
function run(
  shell: string,
  given: Partial<FirstOrders> | undefined,
  input = '',
): { stdout: string; stderr: string; status: number | null } {
  const words = [shell, ...(shell.endsWith('busybox') ? ['sh'] : []), '-c', BOOTSTRAP, 'glovebox'];
  const { stdout, stderr, status } = spawnSync('/bin/sh', ['-c', 'cat | "$@"', 'sh', ...words], {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', LEFT_OVER: 'of the image' },
    input: Buffer.concat([
      given ? writeOrders({ ...orders, ...given }) : Buffer.alloc(0),
      Buffer.from(input),
    ]),
  });
  return { stdout: stdout.toString(), stderr: stderr.toString(), status };
}

describe.each(SHELLS)('the bootstrap in %s', (shell) => {
  it('becomes a first process that has no name any more, and leaves the rest of its input to it', () => {
    const first = { program: readFileSync('/usr/bin/env'), arguments: ['WORD=two words'] };
    const argv = ['/bin/sh', '-c', 'echo "$WORD"; cat'] as const;
    expect(run(shell, { first, argv }, 'its input')).toMatchObject({
      stdout: `${STARTED}\ntwo words\nits input`,
      status: 0,
    });
    expect(existsSync('/dev/shm/.glovebox-init')).toBe(false);
  });

  it('becomes the program and leaves it its own input', () => {
    expect(run(shell, {}, 'for the program\n')).toEqual({
      stdout: `${STARTED}\nfor the program\n`,
      stderr: '',
      status: 0,
    });
  });

  it('sets limits that the program cannot raise', () => {
    const limits = limitsInShell({ policy: POLICY, cores: 2, isPodman: true });
    const argv = ['/usr/bin/python3', '-c', PRINT_LIMITS] as const;
    // Under its own name bash counts in blocks of 1024 bytes; containers call it sh.
    const fileSize = 2 ** (shell === '/bin/bash' ? 21 : 20);
    expect(JSON.parse(run(shell, { limits, argv }).stdout.replace(`${STARTED}\n`, ''))).toEqual({
      ...{ CORE: [0, 0], NOFILE: [1024, 1024], FSIZE: [fileSize, fileSize], CPU: [24, 24] },
    });
    expect(limitsInShell({ policy: POLICY, cores: 2, isPodman: false })).toEqual([]);
  });

  it('writes files of any content and name first, folders made on the way', () => {
    const files = new Map<string, Uint8Array>([
      ['main.py', Buffer.from('print(1)')],
      ['a/b/all bytes', Uint8Array.from({ length: 256 }, (_, byte) => byte)],
      ["a/it's $HOME `id`\nnew line", Buffer.from('odd')],
      ['-n', Buffer.alloc(0)],
      ['short', Buffer.from("%s \\n 'it' \r\n\ttab\x01\x7f$(id)\n\n")],
      ['more than short', Buffer.alloc(16_385, 'a')],
      ['latin', Buffer.from('é', 'latin1')],
      ['large', Buffer.alloc(300_001, 'xyz')],
    ]);
    expect(run(shell, { files }, 'rest').stdout).toBe(`${STARTED}\nrest`);
    for (const [name, content] of files)
      expect(readFileSync(join(folder, name)).equals(content), name).toBe(true);
  });

  it('gives the program its arguments as they are, and exactly its variables', () => {
    const words = ['two words', '', "it's", '$HOME `id` * "', 'line\nbreak', '\\', 'é 漢字'];
    const environment = {
      PATH: '/usr/bin:/bin',
      GIVEN: ' a "b" $c\né\' ',
      EMPTY: '',
      UID: '7',
      PS1: '> ',
      env: 'not ours',
    };
    const { stdout } = run(shell, {
      unset: ['LEFT_OVER', 'NOT_THERE', 'PATH'],
      environment,
      argv: [
        '/usr/bin/python3',
        '-c',
        'import os, sys, json; print(json.dumps([sys.argv[1:], dict(os.environ)]))',
        ...words,
      ],
    });
    const [, said = ''] = stdout.split(`${STARTED}\n`);
    const [arguments_, variables] = JSON.parse(said) as [string[], Record<string, string>];
    delete variables['LC_CTYPE'];
    expect([arguments_, variables]).toEqual([words, environment]);
  });

  it('says so when a file cannot be written, and does not start the program', () => {
    const result = run(shell, {
      files: new Map([
        ['a', Buffer.from('x')],
        ['a/b', Buffer.from('y')],
      ]),
    });
    expect([result.status, result.stdout.includes(STARTED)]).toEqual([125, false]);
    expect(result.stderr).toMatch(/cannot (write|make)/);
  });

  it('ends when nobody gives it orders', () => {
    expect(run(shell, undefined)).toEqual({ stdout: '', stderr: '', status: 125 });
  });

  it('hands on output with the code of the program', () => {
    const { stdout, stderr, status } = run(shell, {
      pipes: true,
      argv: ['/bin/sh', '-c', 'echo out; echo err >&2; exit 7'],
    });
    expect({ stdout, stderr, status }).toEqual({ stdout: `${STARTED}\nout\n`, stderr: 'err\n', status: 7 });
    const killed = run(shell, { pipes: true, argv: ['/bin/sh', '-c', 'echo out; kill -9 $$'] });
    expect(killed).toEqual({ stdout: `${STARTED}\nout\n`, stderr: '', status: 137 });
  });

  it('hands on no longer than a second after the program for who holds its output open', () => {
    const startedAt = performance.now();
    const { stdout, status } = run(shell, { pipes: true, argv: ['/bin/sh', '-c', 'sleep 8 & echo out'] });
    expect({ stdout, status }).toEqual({ stdout: `${STARTED}\nout\n`, status: 0 });
    expect((performance.now() - startedAt) / 1000).toBeLessThan(6);
  });
});

describe('words', () => {
  it('cannot hold a NUL', () => {
    expect(() => shellWord('a\0b')).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });
});
