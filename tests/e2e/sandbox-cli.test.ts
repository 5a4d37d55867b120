import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { npmRegistry, pythonIndex, serve, wheel } from '../support/packageIndexes.ts';
import { NO_TRACES, processesWith, tracesOf } from '../support/traces.ts';
import { describeWith, type Need } from './support/needs.ts';
import { useSandboxCommands } from './support/sandboxCommands.ts';

const { glovebox, background, succeed, create, listed, fail } = useSandboxCommands();

const STORY: readonly { readonly runtime: string; readonly needs: readonly Need[] }[] = [
  { runtime: 'local', needs: [] },
  { runtime: 'bubblewrap', needs: ['bubblewrap'] },
  { runtime: 'docker', needs: ['docker'] },
  { runtime: 'gvisor', needs: ['gvisor'] },
];

for (const { runtime, needs } of STORY) {
  describeWith(needs, `a sandbox of ${runtime}`, () => {
    it('takes a file, runs code that reads it and writes another, gives that out, and is gone', async () => {
      glovebox.file('sales.csv', 'month,sales\njan,3\nfeb,4\n');
      const id = await create('--runtime', runtime);
      const pid = background.pid();
      await succeed('write', id, 'data/sales.csv', 'sales.csv');
      const code = [
        'import csv, json, os',
        'rows = list(csv.DictReader(open("data/sales.csv")))',
        'os.makedirs("out", exist_ok=True)',
        'json.dump({"total": sum(int(row["sales"]) for row in rows)}, open("out/total.json", "w"))',
        'print(len(rows), "rows")',
      ].join('\n');
      expect(await succeed('exec', id, '-c', code)).toBe('2 rows\n');
      expect(await succeed('read', id, 'out/total.json')).toBe('{"total": 7}');
      expect(await succeed('exec', id, '--command', '--', 'cat', 'data/sales.csv')).toContain('feb,4\n');
      const { files } = JSON.parse(await succeed('ls', id, 'out', '--json'));
      expect(files).toEqual([
        {
          name: 'total.json',
          path: expect.stringMatching(/\/out\/total\.json$/),
          type: 'file',
          size: 12,
          modified_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        },
      ]);
      expect(await listed()).toEqual([id]);
      await succeed('rm', id);
      await background.gone();
      expect(tracesOf(pid)).toEqual(NO_TRACES);
    });
  });
}

/** Its output goes to somebody who reads nothing of it, and leaves. */
const WITHOUT_READER = ['sh', '-c', '"$@" 2>&1 | sleep 1', 'sh'];

describe('a dry run', () => {
  it('is told, and committed once and only to what it began with', async () => {
    const id = await create('--runtime', 'local');
    await succeed('write', id, 'kept.txt', '--text', 'kept\n');
    const dry = async (command: string) => {
      const args = ['exec', id, '--dry-run', '--json', '--command', '--', 'sh', '-c', command];
      return JSON.parse(await succeed(...args)).dry_run;
    };
    const told = await glovebox.run([
      'sandbox',
      'exec',
      id,
      '--dry-run',
      '--command',
      '--',
      'sh',
      '-c',
      "echo out; echo x >'a\nb'",
    ]);
    expect(told.stdout).toBe('out\n');
    expect(told.stderr).toMatch(
      /^1 files.*\n\+ a\\x0ab {2}file, 2 bytes.*[\s\S]*To apply it: glovebox sandbox commit \S+ \S+\n$/m,
    );
    const first = await dry('rm kept.txt');
    expect(first.effects.files).toMatchObject([{ kind: 'removed', path: 'kept.txt' }]);
    await succeed('write', id, 'other.txt', '--text', 'x');
    expect(await fail('commit', id, first.id)).toMatchObject({ status: 125, code: 'WORKSPACE_CHANGED' });
    await succeed('discard', id, first.id);
    expect(await fail('commit', id, first.id)).toMatchObject({ code: 'INPUT_INVALID' });
    const second = await dry('rm kept.txt');
    const committed = JSON.parse(await succeed('commit', id, second.id, '--json'));
    expect(committed).toEqual({ dry_run: second.id, effects_sha256: second.effects_sha256 });
    expect(await fail('commit', id, second.id)).toMatchObject({ code: 'INPUT_INVALID' });
    const { files } = JSON.parse(await succeed('ls', id, '--json'));
    expect(files).toMatchObject([{ name: 'other.txt' }]);
    await succeed('rm', id);
    await background.gone();
  });
});

for (const { runtime, needs } of STORY.slice(1)) {
  describeWith(needs, `packages in a sandbox of ${runtime}`, () => {
    it('are installed from their registries, and used by code', async () => {
      const npm = 'http://npm.test';
      const [forPython, forNode] = [
        await serve(pythonIndex(wheel('greeter', '1.2.0', { 'greeter.py': 'def greet(): return "hello"' }))),
        await serve(
          await npmRegistry(npm, [
            {
              name: 'is-number',
              version: '7.0.0',
              files: { 'package/index.js': 'module.exports = Number.isFinite' },
            },
          ]),
        ),
      ];
      const network = {
        host_map: { 'index.test': forPython.endpoint, 'npm.test': forNode.endpoint },
        allowed_registries: { pypi: ['http://index.test/simple'], npm: [npm] },
      };
      glovebox.file('own.yaml', JSON.stringify({ security: { sandbox: { network } } }));
      const id = await create('--runtime', runtime, '--config', 'own.yaml');
      const wheeled = await glovebox.run(['sandbox', 'install', id, 'greeter==1.2.0'], {
        deadlineMs: 55_000,
      });
      expect(wheeled).toMatchObject({
        status: 0,
        stdout: 'greeter==1.2.0 is installed, in version 1.2.0.\n',
        stderr: expect.stringContaining('Successfully installed greeter-1.2.0'),
      });
      const packed = await glovebox.run(
        ['sandbox', 'install', id, 'is-number', '--registry', 'npm', '--json'],
        { deadlineMs: 55_000 },
      );
      expect({ stderr: packed.stderr, ...JSON.parse(packed.stdout) }).toMatchObject({
        stderr: '',
        ok: true,
        version: '7.0.0',
        exit_code: 0,
        sandbox_id: id,
      });
      expect(await succeed('exec', id, '-c', 'import greeter; print(greeter.greet())')).toBe('hello\n');
      const code = "import isNumber from 'is-number'; console.log(isNumber(5), isNumber('a'))";
      expect(await succeed('exec', id, '-l', 'javascript', '-c', code)).toBe('true false\n');
      const missing = await glovebox.run(['sandbox', 'install', id, 'nothing-of-this-name'], {
        deadlineMs: 55_000,
      });
      expect(missing).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(/glovebox: .+\n$/),
      });
      expect(await fail('install', id, '--index-url=http://evil.test')).toMatchObject({ status: 125 });
      expect(await fail('install', id, 'a', '--registry', 'cargo')).toMatchObject({ code: 'INPUT_INVALID' });
    }, 120_000);
  });
}

/** One that has ended already has nothing to give up. */
function interrupt(pid: number): void {
  try {
    process.kill(pid, 'SIGINT');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

describe('glovebox sandbox exec', () => {
  it.each([
    ['the status of the program', ['-c', 'import sys; sys.exit(7)'], 7],
    ['1 for an uncaught error', ['-c', 'raise ValueError'], 1],
    ['124 when the time was over', ['--timeout', '0.5', '-c', 'while True: pass'], 124],
    ['137 when the program was killed', ['-c', 'import os; os.kill(os.getpid(), 9)'], 137],
    ['125 for a bad option', ['--timeout', 'soon', '-c', 'pass'], 125],
  ])('ends with %s, and the sandbox lives on', async (_, args, status) => {
    const id = await create();
    expect((await glovebox.run(['sandbox', 'exec', id, ...args])).status).toBe(status);
    expect(await succeed('exec', id, '-c', 'print("lives")')).toBe('lives\n');
  });

  it('passes input, arguments and variables in, and both streams out, byte for byte', async () => {
    const id = await create();
    glovebox.file(
      'echo.py',
      [
        'import os, sys',
        'data = sys.stdin.buffer.read()',
        'sys.stdout.buffer.write(data[::-1])',
        'print(sys.argv[1:], os.environ["GREETING"], file=sys.stderr)',
      ].join('\n'),
    );
    const input = Buffer.alloc(
      300_000,
      Uint8Array.from({ length: 256 }, (_, byte) => byte),
    );
    const { status, bytes, stderr } = await glovebox.run(
      ['sandbox', 'exec', id, 'echo.py', '--env', 'GREETING=hello', '--', 'a', '-b'],
      { stdin: input },
    );
    expect({ status, same: bytes.equals(Buffer.from(input).reverse()), stderr }).toEqual({
      status: 0,
      same: true,
      stderr: "['a', '-b'] hello\n",
    });
  });

  it('passes on much that comes on both streams at a time, also to nobody', async () => {
    const id = await create();
    const both = [
      'import sys, threading',
      'def write(stream):',
      '    for _ in range(40): stream.write(b"x" * 50_000)',
      'writers = [threading.Thread(target=write, args=[s.buffer]) for s in (sys.stdout, sys.stderr)]',
      'for writer in writers: writer.start()',
    ].join('\n');
    const left = await glovebox.start(['sandbox', 'exec', id, '-c', both], { wrapper: WITHOUT_READER });
    await left.finished;
    const { status, stdout, stderr } = await glovebox.run(['sandbox', 'exec', id, '-c', both]);
    expect([status, stdout.length, stderr.length]).toEqual([0, 2_000_000, 2_000_000]);
  });

  it('passes output on while the program runs, and more input than it has read', async () => {
    const id = await create();
    const running = await glovebox.start(
      ['sandbox', 'exec', id, '-c', 'print("early", flush=True)\nprint(input())'],
      {
        stdin: 'open',
      },
    );
    await running.prints('early');
    running.stdin?.write('late\nunread\n');
    expect((await running.finished).stdout).toBe('early\nlate\n');
  });

  it('takes its language from the file, else from the sandbox', async () => {
    const id = await create('--language', 'shell');
    glovebox.file('program.mjs', 'console.log("javascript", 6 * 7)');
    expect(await succeed('exec', id, 'program.mjs')).toBe('javascript 42\n');
    expect(await succeed('exec', id, '-c', 'echo shell $((6 * 7))')).toBe('shell 42\n');
    expect(await succeed('exec', id, '-l', 'python', '-c', 'print("python", 6 * 7)')).toBe('python 42\n');
  });

  it('prints one result with --json', async () => {
    const id = await create();
    const { status, stdout, stderr } = await glovebox.run([
      'sandbox',
      'exec',
      id,
      '--json',
      '-c',
      'print(1); raise SystemExit(3)',
    ]);
    expect({ status, stderr }).toEqual({ status: 3, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      stdout: '1\n',
      exit_code: 3,
      outcome: 'exited',
      meta: { sandbox_id: id, language: 'python' },
    });
  });

  it('passes a flood on whole, to a reader that takes its time, and cuts it where a limit is asked for', async () => {
    const id = await create();
    const flood = 'import sys\nfor number in range(300_000): print(number, "x" * 20)';
    const whole = await glovebox.run([], {
      wrapper: ['bash', '-c', `"\${@:1:2}" sandbox exec ${id} -c '${flood}' | (sleep 0.5; md5sum)`, 'bash'],
    });
    const expected = await glovebox.run([], { wrapper: ['python3', '-c', `${flood}`] });
    const { createHash } = await import('node:crypto');
    expect(whole.stdout).toBe(`${createHash('md5').update(expected.bytes).digest('hex')}  -\n`);
    const cut = await glovebox.run(['sandbox', 'exec', id, '--max-output-kb', '1', '-c', flood]);
    expect(cut.stdout).toContain('... (output truncated)');
    expect(cut.stdout.length).toBeLessThan(1200);
  });
});

describe('glovebox sandbox create', () => {
  it('that is given up leaves no sandbox that nobody was told of', async () => {
    // At different moments: before the process is there, while the sandbox is made, and when it is there.
    for (const milliseconds of [0, 150, 300, 450, 600, 900]) {
      const making = await glovebox.start(['sandbox', 'create']);
      await delay(milliseconds);
      interrupt(making.pid);
      const { status, stdout, signal } = await making.finished;
      const told = stdout.split('\n').filter(Boolean);
      expect([130, 0, null]).toContain(status);
      // Before our own listener is there, Node ends at once.
      expect(signal ?? 'SIGINT').toBe('SIGINT');
      await eventually(
        'there are only those that were told',
        async () => (await listed()).join() === told.join(),
      );
      await succeed('rm', '--all');
    }
    await background.gone();
  });

  it('is told with every other command in the help', async () => {
    const { stdout } = await glovebox.run(['sandbox', '--help']);
    for (const command of [
      'create',
      'exec',
      'write',
      'read',
      'ls',
      'rm-file',
      'upload',
      'download',
      'install',
      'rm',
      'list',
    ]) {
      expect(stdout).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'));
      expect((await glovebox.run(['sandbox', command, '--help'])).stdout).toMatch(
        /Examples?:\n {2}glovebox sandbox/,
      );
    }
  });
});

describe('an execution that is given up', () => {
  const ENDLESS = 'import sys\nprint("ready", flush=True)\nwhile True: pass';

  it.each(['SIGINT', 'SIGTERM'] as const)('is cancelled by %s, and the sandbox lives on', async (signal) => {
    const id = await create();
    const nonce = `nonce-${crypto.randomUUID()}`;
    const running = await glovebox.start(['sandbox', 'exec', id, '-c', ENDLESS, '--', nonce]);
    await running.prints('ready\n');
    // A terminal sends it to the whole group: the background process is in none of the caller's.
    process.kill(-running.pid, signal);
    const { status, stdout, stderr } = await running.finished;
    expect({ status, stdout, stderr }).toEqual({
      status: 130,
      stdout: 'ready\n',
      stderr: 'glovebox: cancelled\n',
    });
    expect(processesWith(nonce)).toEqual([]);
    expect(await succeed('exec', id, '-c', 'print("lives")')).toBe('lives\n');
  });

  it('is cancelled when its command is killed, and the sandbox lives on', async () => {
    const id = await create();
    const nonce = `nonce-${crypto.randomUUID()}`;
    const running = await glovebox.start(['sandbox', 'exec', id, '-c', ENDLESS, '--', nonce], {
      stdin: 'open',
    });
    await running.prints('ready\n');
    expect(processesWith(nonce).length).toBeGreaterThan(1);
    process.kill(running.pid, 'SIGKILL');
    await running.finished;
    await eventually('the program is gone', () => processesWith(nonce).length === 0);
    expect(await succeed('exec', id, '-c', 'print("lives")')).toBe('lives\n');
  });

  it('is cancelled when nobody reads its output any more', async () => {
    const id = await create();
    const nonce = `nonce-${crypto.randomUUID()}`;
    const flood = 'number = 0\nwhile True:\n    print(number)\n    number += 1';
    glovebox.file('flood.py', flood);
    const script = `"$@" sandbox exec ${id} flood.py -- ${nonce} | head -1; echo "status \${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await glovebox.run([], { wrapper: ['bash', '-c', script, 'bash'] });
    expect({ stdout, stderr }).toEqual({ stdout: '0\nstatus 141\n', stderr: '' });
    await eventually('the program is gone', () => processesWith(nonce).length === 0);
    expect(await succeed('exec', id, '-c', 'print("lives")')).toBe('lives\n');
  });

  it('is told when its sandbox is removed meanwhile', async () => {
    const id = await create();
    const other = await create();
    const running = await glovebox.start(['sandbox', 'exec', id, '-c', ENDLESS]);
    await running.prints('ready\n');
    await succeed('rm', id);
    expect((await running.finished).status).not.toBe(0);
    expect(await listed()).toEqual([other]);
  });

  it('is told when the background process is killed meanwhile', async () => {
    const id = await create();
    const running = await glovebox.start(['sandbox', 'exec', id, '-c', ENDLESS]);
    await running.prints('ready\n');
    process.kill(background.pid(), 'SIGKILL');
    const { status, stderr } = await running.finished;
    expect({ status, stderr }).toEqual({
      status: 125,
      stderr: expect.stringContaining('broke off its answer'),
    });
  });
});
