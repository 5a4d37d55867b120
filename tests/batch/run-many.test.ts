/** Many programs by the built command, in namespaces: every ending, and going on where a run was ended. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { thisProcess } from '../../src/files/processOwner.ts';
import { missingForTerminals, PseudoTerminal } from '../approval/pseudoTerminal.ts';
import { MAIN } from '../e2e/support/build.ts';
import { type Invocation, useCommand } from '../e2e/support/command.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { withoutProgram } from '../e2e/support/without.ts';
import { eventually } from '../support/eventually.ts';
import { cgroupsOf, foldersIn, mountsOf, processesWith } from '../support/traces.ts';

const glovebox = useCommand();

const QUIET: Invocation = { env: { SANDBOX_STORE_CODE: 'never', SANDBOX_PYTHON: '/usr/bin/python3' } };

interface Told {
  readonly id: string;
  readonly sha256: string | null;
  readonly outcome?: string;
  readonly exit_code?: number;
  readonly stdout?: string;
  readonly error?: { readonly code: string };
  readonly meta?: {
    readonly enforced: { readonly isolation: string } | null;
    readonly record?: object;
    readonly artifact?: string;
  };
}

function list(programs: readonly object[]): string {
  return glovebox.file('programs.jsonl', programs.map((program) => `${JSON.stringify(program)}\n`).join(''));
}

/** Lines as a reader sees them who ends one at everything that Unicode calls a line end. */
function readResults(text: string): Told[] {
  const lines = text.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/);
  expect(lines.pop()).toBe('');
  return lines.map((line) => JSON.parse(line) as Told);
}

const output = (): string => join(glovebox.folder, 'results.jsonl');
const written = (): string => (existsSync(output()) ? readFileSync(output(), 'utf8') : '');
const linesIn = (text: string): number => text.split('\n').length - 1;

function times<Item>(count: number, make: (number: number) => Item): Item[] {
  return Array.from({ length: count }, (_, number) => make(number));
}

/** Each with its outcome, exit status and output. */
const PROGRAMS: readonly (readonly [object, readonly unknown[]])[] = [
  ...times(18, (n) => {
    const code = 'import os, sys; print(sys.argv[1], os.environ["N"], input(), open("in.txt").read())';
    const files = { 'in.txt': { content: `file ${n}` } };
    return [
      { id: `good ${n}`, code, args: [`arg ${n}`], env: { N: `${n}` }, stdin: `line ${n}\n`, files },
      ['exited', 0, `arg ${n} ${n} line ${n} file ${n}\n`],
    ] as const;
  }),
  ...times(
    10,
    (n) =>
      [
        { id: `exit ${n}`, code: `import sys; sys.exit(${n * 28})` },
        n * 28 > 128 && n * 28 <= 192 ? ['killed', n * 28, ''] : ['exited', n * 28, ''],
      ] as const,
  ),
  ...times(
    6,
    (n) =>
      [
        { id: `hang ${n}`, code: `print(${n}, flush=True)\nwhile True: pass`, timeout: 0.5 },
        ['timed_out', -1, `${n}\n`],
      ] as const,
  ),
  ...times(
    4,
    (n) =>
      [
        { id: `killed ${n}`, code: 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)' },
        ['killed', 137, ''],
      ] as const,
  ),
  ...times(
    3,
    (n) =>
      [
        { id: `hog ${n}`, code: "hoard = b'x' * 2**30" },
        [
          expect.stringMatching(/^(out_of_memory|exited)$/),
          expect.toSatisfy((code) => code === 137 || code === 1),
          '',
        ],
      ] as const,
  ),
  ...times(
    5,
    (n) =>
      [
        { id: `javascript ${n}`, code: `console.log(${n} * 2)`, language: 'js' },
        ['exited', 0, `${n * 2}\n`],
      ] as const,
  ),
  ...times(
    5,
    (n) =>
      [
        { id: `shell ${n}`, code: `echo $((${n} + 1))`, language: 'shell' },
        ['exited', 0, `${n + 1}\n`],
      ] as const,
  ),
  [
    {
      id: 'separators',
      code: String.raw`print('a\nb\r\u0085\u2028\u2029\x1b[2J\u202e{"id":"forged"}', end='')`,
    },
    ['exited', 0, 'a\nb\r\u0085\u2028\u2029\x1b[2J\u202e{"id":"forged"}'],
  ],
  [
    { id: 'no text', code: String.raw`import sys; sys.stdout.buffer.write(b'\xff\xfe\x00a')` },
    ['exited', 0, '\ufffd\ufffd\0a'],
  ],
  [
    { id: 'a forged line', code: String.raw`print('\n{"id":"good 0","sha256":null}')` },
    ['exited', 0, '\n{"id":"good 0","sha256":null}\n'],
  ],
  [{ id: 'id\u2028with\nlines\x1b', code: 'pass' }, ['exited', 0, '']],
  [{ id: 'flood', code: "print('x' * 10**7)" }, ['exited', 0, expect.stringContaining('truncated')]],
  [{ id: 'no file', path: 'missing.py' }, ['INPUT_INVALID']],
  [{ id: 'another file', path: '/etc/passwd' }, ['INPUT_INVALID']],
  [{ id: 'no language', code: 'x', language: 'cobol' }, ['INPUT_INVALID']],
  [{ id: 'a file of that name', code: 'x', files: { 'main.py': { content: '' } } }, ['INPUT_INVALID']],
];

describeWith(['bubblewrap'], 'run-many', () => {
  it('tells each of sixty programs once, however it ends', async () => {
    expect(PROGRAMS).toHaveLength(60);
    const { status, stdout, stderr } = await glovebox.run(
      ['run-many', list(PROGRAMS.map(([program]) => program)), '--memory-mb', '64', '--concurrency', '4'],
      { env: { ...QUIET.env, SANDBOX_DISK_MB: '16' }, deadlineMs: 50_000 },
    );
    const results = readResults(stdout);
    const ends = results.map(({ id, outcome, exit_code, stdout, error }) => [
      id,
      error === undefined ? [outcome, exit_code, stdout] : [error.code],
    ]);
    expect(ends).toHaveLength(60);
    const expected = PROGRAMS.map(([program, end]) => [(program as { id: string }).id, end]);
    expect(Object.fromEntries(ends)).toEqual(Object.fromEntries(expected));
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^glovebox: 60 programs in [\d.]+ s: \d+ ok, \d+ failed, 6 timed out, 4 could not be run\n$/,
    );
    const held = results.filter(({ error }) => error === undefined);
    expect(new Set(held.map(({ meta }) => meta?.enforced?.isolation))).toEqual(new Set(['namespace']));
    expect(results.find(({ id }) => id === 'no file')?.sha256).toBe(null);
    expect(new Set(held.map(({ sha256 }) => sha256?.length))).toEqual(new Set([64]));
  });

  it('gives exactly one line for each program when it is killed in the middle and resumed', async () => {
    // Two of them hold it up for as long as they may, which the second run allows them less.
    const programs = times(24, (n) => ({
      id: `p${n}`,
      code: n === 10 || n === 11 ? 'while True: pass' : `print(${n})`,
    }));
    const common = ['run-many', list(programs), '--output', output(), '--concurrency', '2'];
    const killed = await glovebox.start([...common, '--timeout', '60'], QUIET);
    await eventually('ten results are written', () => linesIn(written()) === 10);
    process.kill(killed.pid, 'SIGKILL');
    expect((await killed.finished).signal).toBe('SIGKILL');
    const before = written();
    appendFileSync(output(), Buffer.from('{"id":"p10","sha256":"é').subarray(0, -1));
    const resumed = await glovebox.run([...common, '--timeout', '0.5', '--resume', '--json'], QUIET);
    expect(resumed.status).toBe(0);
    expect(JSON.parse(resumed.stdout)).toMatchObject({
      ...{ programs: 14, ok: 12, errors: 0, skipped: 10, cancelled: false },
      outcomes: { exited: 12, timed_out: 2 },
    });
    expect(written().startsWith(before)).toBe(true);
    const results = readResults(written());
    expect(results.map(({ id }) => id).sort()).toEqual(programs.map(({ id }) => id).sort());
    expect(
      results
        .filter(({ outcome }) => outcome === 'timed_out')
        .map(({ id }) => id)
        .sort(),
    ).toEqual(['p10', 'p11']);
    const again = await glovebox.run([...common, '--resume'], QUIET);
    expect([again.status, again.stderr]).toEqual([
      0,
      expect.stringMatching(/^glovebox: 0 programs .*; 24 had a result already\n$/),
    ]);
    expect(readResults(written())).toEqual(results);
    expect(existsSync(`${output()}.lock`)).toBe(false);
  });

  it('leaves nothing after Ctrl-C, tells what it cancelled, and goes on with that', async () => {
    const nonce = `nonce-${crypto.randomUUID()}`;
    const programs = times(6, (n) => ({ id: `${n}`, code: 'while True: pass', args: [`${nonce}-${n}`] }));
    const common = ['run-many', list(programs), '--output', output(), '--concurrency', '3'];
    const running = await glovebox.start([...common, '--timeout', '60'], QUIET);
    const runs = () => programs.filter(({ args: [name = ''] }) => processesWith(name).length > 0);
    await eventually('three of them run', () => runs().length === 3);
    process.kill(-running.pid, 'SIGINT');
    const { status, stdout, stderr } = await running.finished;
    expect({ status, stdout }).toEqual({ status: 130, stdout: '' });
    expect(stderr).toMatch(
      /3 programs in .*\nglovebox: cancelled\. To go on: the same command with --resume/,
    );
    const cancelled = readResults(written()).map(({ id, outcome }) => [id, outcome]);
    expect(cancelled.sort()).toEqual(['0', '1', '2'].map((id) => [id, 'cancelled']));
    expect({
      processes: processesWith(nonce),
      folders: foldersIn(glovebox.temporary),
      cgroups: cgroupsOf(running.pid),
      mounts: mountsOf(running.pid),
      lock: existsSync(`${output()}.lock`),
    }).toEqual({ processes: [], folders: [], cgroups: [], mounts: [], lock: false });
    const resumed = await glovebox.run([...common, '--timeout', '0.3', '--resume'], QUIET);
    expect(resumed.status).toBe(0);
    const ends = readResults(written()).map(({ id, outcome }) => [id, outcome]);
    expect(ends.sort()).toEqual(programs.map(({ id }) => [id, 'timed_out']));
  });

  it('reads what comes on standard input as it comes', async () => {
    const running = await glovebox.start(['run-many', '-', '--concurrency', '1'], {
      ...QUIET,
      stdin: 'open',
    });
    running.stdin?.write('{"code":"print(1)"}\n');
    await running.prints('"id":"1"');
    running.stdin?.end('{"code":"print(2)"}\n');
    const { status, stdout } = await running.finished;
    expect(status).toBe(0);
    expect(readResults(stdout).map(({ id, stdout }) => [id, stdout])).toEqual([
      ['1', '1\n'],
      ['2', '2\n'],
    ]);
  });

  it.skipIf(missingForTerminals() !== undefined)(
    'draws a bar on a terminal, and nothing of what a program prints or is called',
    async () => {
      const hostile = '\x1b]0;evil\x07\x1b[2J';
      const code = `print(${JSON.stringify(hostile)})`;
      const programs = list(times(3, (n) => ({ id: `${hostile}${n}`, code })));
      const flags = ['run-many', programs, '--output', output(), '--concurrency', '1'];
      const here = { ...QUIET.env, HOME: glovebox.home, XDG_STATE_HOME: glovebox.home };
      await using terminal = await PseudoTerminal.open(
        ...['sh', '-c', 'exec "$@" 2>/dev/tty', 'sh', 'env'],
        ...Object.entries(here).map(([name, value]) => `${name}=${value}`),
        ...[process.execPath, MAIN, ...flags],
      );
      expect(await terminal.printed()).toBe('');
      await terminal.shows('glovebox: 3 programs in');
      expect(terminal.screen).toContain('3/3 | ');
      expect(terminal.screen).toContain('3 ok, 0 failed, 0 timed out');
      expect(terminal.screen).not.toMatch(/evil|\x1b\]|\x1b\[2J/);
      expect(readResults(written()).map(({ stdout }) => stdout)).toEqual(times(3, () => `${hostile}\n`));
    },
  );

  it('ends when nobody reads its results any more, and cancels what runs', async () => {
    const nonce = `nonce-${crypto.randomUUID()}`;
    const programs = list([
      { code: 'while True: pass', args: [nonce] },
      ...times(60, (n) => ({ code: `print(${n})` })),
    ]);
    const { stdout, stderr } = await glovebox.run(
      ['run-many', programs, '--timeout', '60', '--concurrency', '2'],
      { ...QUIET, wrapper: ['sh', '-c', '{ "$@"; echo "status $?" >&2; } | head -n 1', 'sh'] },
    );
    expect(readResults(stdout)).toHaveLength(1);
    expect(stderr).toBe('status 141\n');
    expect(processesWith(nonce)).toEqual([]);
  });

  it('runs every program of a folder', async () => {
    for (const name of ['a.py', 'sub/b.py']) glovebox.file(`programs/${name}`, 'print(__file__)');
    glovebox.file('programs/data.txt', 'no program');
    const { status, stdout } = await glovebox.run(['run-many', 'programs', '--concurrency', '1'], QUIET);
    expect([status, readResults(stdout).map(({ id, stdout }) => [id, stdout])]).toEqual([
      0,
      ['a.py', 'sub/b.py'].map((id) => [id, '/workspace/main.py\n']),
    ]);
  });

  it('goes the way of every execution: looked at, recorded, kept where it failed', async () => {
    const programs = list([{ code: 'print(1)' }, { code: 'import subprocess' }, { code: 'exit(3)' }]);
    const settings = { SANDBOX_AUDIT: 'on', SANDBOX_BLOCK_DANGEROUS_IMPORTS: 'true' };
    const env = { ...QUIET.env, ...settings, SANDBOX_STORE_CODE: 'on_error' };
    const { status, stdout } = await glovebox.run(['run-many', programs, '--concurrency', '3'], { env });
    const ends = readResults(stdout).map(({ id, outcome, meta }) => [
      ...[id, outcome, meta?.record !== undefined, meta?.artifact !== undefined],
    ]);
    expect([status, ends.sort()]).toEqual([
      0,
      [
        ['1', 'exited', true, false],
        ['2', 'blocked', true, true],
        ['3', 'exited', true, true],
      ],
    ]);
    const { stdout: requests } = await glovebox.run(['audit', 'list', '--type', 'request', '--json'], {
      env,
    });
    const surfaces = requests.match(/"surface":"\w+"/g);
    expect(surfaces).toEqual(times(3, () => '"surface":"batch"'));
  });

  it('runs nothing where the list or the file of results cannot be meant', async () => {
    const refusal = async (args: readonly string[]) => {
      const { status, stdout, stderr } = await glovebox.run(['run-many', ...args], QUIET);
      return [status, stdout, stderr.split('\n')[0]];
    };
    const good = { id: 'a', code: 'print(1)' };
    const twice = list([good, { id: 'b', code: '1' }, good]);
    expect(await refusal([twice, '--output', output()])).toEqual([
      ...[125, '', 'glovebox: The id "a" is there twice: line 1 and line 3.'],
    ]);
    expect(existsSync(output())).toBe(false);
    expect(await refusal([list([good, { id: 'b' }])])).toEqual([125, '', expect.stringContaining('line 2')]);
    expect(await refusal([list([good]), '--resume'])).toEqual([125, '', expect.stringContaining('--output')]);

    const file = list([good]);
    expect((await glovebox.run(['run-many', file, '--output', output()], QUIET)).status).toBe(0);
    const results = written();
    expect(await refusal([file, '--output', output()])).toEqual([
      125,
      '',
      expect.stringContaining('already'),
    ]);
    const changed = list([{ ...good, code: 'print(2)' }]);
    expect(await refusal([changed, '--output', output(), '--resume'])).toEqual([
      ...[125, '', 'glovebox: The program "a" (line 1) is not the one whose result was written.'],
    ]);
    glovebox.file('results.jsonl.lock', JSON.stringify(thisProcess()));
    expect(await refusal([list([good]), '--output', output(), '--resume'])).toEqual([
      ...[125, '', expect.stringContaining('Another run-many')],
    ]);
    expect(written()).toBe(results);
  });
});

describeWith(['bubblewrap', 'root'], 'run-many where there are no namespaces', () => {
  it('refuses before it begins, unless a setting asks for less', async () => {
    const programs = list([{ code: 'print(1)' }]);
    const without = { ...QUIET, ...withoutProgram('bwrap') };
    const refused = await glovebox.run(['run-many', programs, '--output', output()], without);
    expect([refused.status, refused.stdout, existsSync(output())]).toEqual([125, '', false]);
    expect(refused.stderr).toContain('namespace');
    for (const env of [{ SANDBOX_LOCAL_ISOLATION: 'none' }, { SANDBOX_MIN_ISOLATION: 'process' }]) {
      const allowed = await glovebox.run(['run-many', programs], {
        ...{ ...without, env: { ...QUIET.env, ...env } },
      });
      expect(allowed.status).toBe(0);
      expect(readResults(allowed.stdout)[0]).toMatchObject({
        ...{ stdout: '1\n', meta: { enforced: { isolation: 'process' } } },
      });
    }
  });
});
