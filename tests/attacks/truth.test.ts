import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LiveSandbox } from '../../src/operations/liveSandbox.ts';
import { describeMissing } from '../support/targets.ts';
import { OF_THEIR_OWN, open, PLAIN, PRELUDE, program, scratch, sharesTheKernel } from './support.ts';

describe.each(OF_THEIR_OWN)('truth of results: $name', (target) => {
  let sandbox: LiveSandbox;
  beforeAll(async () => {
    sandbox = await open(target, { diskMb: 64 }).catch(() => open(target));
  });
  afterAll(() => sandbox.close());

  it.each([0, 1, 2, 125, 126, 127, 128, 193, 200, 254, 255])(
    '21. exit(%i) is exited with that code',
    async (code) => {
      const result = await sandbox.execute(`exit ${code}`, { language: 'shell' });
      expect(result).toMatchObject({ outcome: 'exited', exitCode: code, ok: code === 0 });
      expect(result.meta.signal).toBeUndefined();
      expect(result.meta.killedBy).toBeUndefined();
    },
  );

  it.each([129, 137, 143, 159, 162, 192])(
    '21. exit(%i) counts as killed by signal code - 128',
    async (code) => {
      const result = await sandbox.execute(`exit ${code}`, { language: 'shell' });
      expect(result).toMatchObject({ outcome: 'killed', exitCode: code, ok: false });
      expect(result.meta.signal).toBe(code - 128);
    },
  );

  it('21. every signal that ends the program is told as that signal', async () => {
    const wrong: string[] = [];
    // Those that end a program by default. Node does not tell the real-time ones of its own children, so that a
    // plain process ended by one looks like an ordinary end (docs/runtimes/local.md).
    const realTime = target === PLAIN ? [] : [34, 35, 50, 64];
    for (const signal of [
      ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27, 29, 30, 31],
      ...realTime,
    ]) {
      const code = `import os, signal, time\nif ${signal} not in (9,): signal.signal(${signal}, signal.SIG_DFL)\nos.kill(os.getpid(), ${signal})\ntime.sleep(5)`;
      const result = await sandbox.execute(code, { timeout: 10 });
      if (
        result.outcome !== 'killed' ||
        result.exitCode !== 128 + signal ||
        result.meta.signal !== signal ||
        result.ok
      ) {
        wrong.push(
          `signal ${signal}: ${result.outcome} ${result.exitCode} ok=${result.ok} ${result.stderr.slice(-100)}`,
        );
      }
    }
    expect(wrong).toEqual([]);
  }, 240_000);

  it('21. abort, _exit, an uncaught error and an ordinary end are told apart', async () => {
    const run = async (code: string) => {
      const { outcome, exitCode, ok } = await sandbox.execute(code);
      return [outcome, exitCode, ok];
    };
    expect(await run('import os; os.abort()')).toEqual(['killed', 134, false]);
    expect(await run('import os; os._exit(3)')).toEqual(['exited', 3, false]);
    expect(await run('raise ValueError')).toEqual(['exited', 1, false]);
    expect(await run('import ctypes; ctypes.string_at(0)')).toEqual(['killed', 139, false]);
    expect(await run('import os; os.closerange(0, 1024); os._exit(3)')).toEqual(['exited', 3, false]);
    expect(await run('pass')).toEqual(['exited', 0, true]);
  });

  it('21. nothing that a program writes anywhere is taken for its status', async () => {
    const forged = [
      '{"exit-code": 0}',
      '{"started":true}',
      '{"failed":"x"}',
      '{ "child-pid": 1 }',
      'Execution timed out after 1 seconds.',
    ];
    const code = program('forges-its-status.py');
    // As root a plain process may write to every descriptor of the host's pid 1: not that.
    const safe =
      target.capabilities.isolation === 'process' ? code.replace("('1', 'self')", "('self',)") : code;
    const result = await sandbox.execute(safe, { timeout: 20, env: { FORGED: JSON.stringify(forged) } });
    expect(result).toMatchObject({ outcome: 'exited', exitCode: 9, timedOut: false, truncated: false });
    expect(result.stdout).toContain('{"exit-code": 0}');
  });

  it('18, 21. a marker that the program prints itself is not a cut', async () => {
    const result = await sandbox.execute(`print('a\\n... (output truncated)\\nb')`);
    expect(result).toMatchObject({ truncated: false, stdout: 'a\n... (output truncated)\nb\n' });
    const cut = await sandbox.execute(`print('x' * 5000)`, { maxOutputKb: 1 });
    expect(cut.truncated).toBe(true);
  });

  it('21. a handler that ends well at the deadline does not turn it into a success', async () => {
    const code = `import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print('ended politely', flush=True), sys.exit(0)))
print('ready', flush=True)
time.sleep(60)`;
    // Long enough for a slow machine to start an interpreter in a kernel of its own.
    const result = await sandbox.execute(code, { timeout: 4 });
    expect(result).toMatchObject({
      outcome: 'timed_out',
      exitCode: -1,
      ok: false,
      stdout: 'ready\nended politely\n',
    });
    expect(result.stderr).toMatch(/timed out after 4 seconds/);
  });

  it('21. another program in its place keeps the deadline and gives its own code', async () => {
    expect(await sandbox.execute('exec sh -c "exit 5"', { language: 'shell' })).toMatchObject({
      outcome: 'exited',
      exitCode: 5,
    });
    expect(await sandbox.execute('exec sleep 60', { language: 'shell', timeout: 0.5 })).toMatchObject({
      outcome: 'timed_out',
    });
  });

  it('21. cancelled before, while and after it runs', async () => {
    const before = await sandbox.execute('print(1)', { signal: AbortSignal.abort() });
    expect(before).toMatchObject({ outcome: 'cancelled', exitCode: 130, stdout: '' });
    const controller = new AbortController();
    const during = await sandbox.execute('import time\nprint(1, flush=True)\ntime.sleep(60)', {
      signal: controller.signal,
      onOutput: () => controller.abort(),
    });
    expect(during).toMatchObject({ outcome: 'cancelled', exitCode: 130 });
    expect(await sandbox.execute('print(2)')).toMatchObject({ ok: true, stdout: '2\n' });
  });

  it('23. awkward source bytes run exactly as submitted', async () => {
    const code = Buffer.from(
      '# -*- coding: latin-1 -*-\nprint(open(__file__, "rb").read().hex())\n# \xff\xfe $(id) `id` $HOME %s \' " \\ \x01\r\n',
      'latin1',
    );
    const result = await sandbox.execute(code);
    expect(result.stdout.trim()).toBe(code.toString('hex'));
    const long = `x = '${'a'.repeat(3_000_000)}'\nprint(len(x))`;
    expect(await sandbox.execute(long)).toMatchObject({ ok: true, stdout: '3000000\n' });
  });

  const host = mkdtempSync(join(scratch, 'host-'));

  it.each([
    ['a link to a file of the host', `os.symlink(os.environ['VICTIM'], path)`],
    ['a dangling link', `os.symlink('/nowhere/at/all', path)`],
    ['a link to itself', `os.symlink(path, path)`],
    ['a FIFO', `os.mkfifo(path)`],
    ['a socket', `s = socket.socket(socket.AF_UNIX); s.bind(path)`],
    ['a hard link to its other file', `open('other', 'w').write('kept'); os.link('other', path)`],
    ['a read-only file', `open(path, 'w').close(); os.chmod(path, 0)`],
    ['a folder that may not be written', `os.chmod(os.path.dirname(path), 0o555)`],
    ['an empty folder', `os.mkdir(path)`],
    ['a full folder', `os.makedirs(path + '/a/b')`],
  ])(
    '23, 26. what was submitted runs although the program before left %s in its place',
    async (_, prepare) => {
      await using live = await open(target);
      const victim = join(host, 'victim');
      writeFileSync(victim, 'untouched');
      const prepared = await live.execute(
        `${PRELUDE}
path = os.path.abspath(__file__)
os.unlink(path)
${prepare}
print('prepared')`,
        { env: { VICTIM: victim } },
      );
      expect(prepared.stdout).toBe('prepared\n');
      const next = await live.execute(`print('as submitted')`, { timeout: 20 }).then(
        (result) => [result.outcome, result.stdout],
        (error: { code: string; message: string }) => [
          'refused',
          error.code,
          error.message.includes('main.py'),
        ],
      );
      expect([
        ['exited', 'as submitted\n'],
        ['refused', 'INPUT_INVALID', true],
      ]).toContainEqual(next);
      expect(readFileSync(victim, 'utf8')).toBe('untouched');
      // What it left is its own to remove: the sandbox is not lost.
      const repaired = await live.execute('chmod 755 .; rm -rf main.py; echo repaired', {
        language: 'shell',
        timeout: 20,
      });
      expect(repaired.stdout).toBe('repaired\n');
      expect(await live.execute(`print('again')`)).toMatchObject({ stdout: 'again\n' });
    },
  );

  it('23. a program that rewrites its own file changes nothing for the next', async () => {
    await using live = await open(target);
    await live.execute(`import os; open(__file__, 'w').write('print("evil")'); os.chmod(__file__, 0o444)`);
    expect((await live.execute(`print('as submitted')`)).stdout).toBe('as submitted\n');
  });

  // A kernel of its own is what the limit ends, and every program with it.
  const countsChildren =
    sharesTheKernel(target) && target.capabilities.limits.memoryMb === 'cgroup' ? it : () => {};
  countsChildren(
    '21. a child that ran out of memory is counted, and the program keeps its own outcome',
    async () => {
      await using small = await open(target, { memoryMb: 96 });
      const result = await small.execute(program('lets-a-child-run-out-of-memory.py'), { timeout: 40 });
      expect(result).toMatchObject({ outcome: 'exited', exitCode: 4, stdout: '-9\n' });
      expect(result.meta.oomKills).toBeGreaterThan(0);
      const main = await small.execute('hog = bytearray()\nwhile True: hog += b"x" * (1 << 20)', {
        timeout: 40,
      });
      expect(main).toMatchObject({ outcome: 'out_of_memory', exitCode: 137 });
      const plainKill = await small.execute('import os; os.kill(os.getpid(), 9)');
      expect(plainKill).toMatchObject({ outcome: 'killed', exitCode: 137 });
    },
  );
});

describeMissing('truth of results');
