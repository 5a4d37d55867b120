import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { processesWith } from '../support/traces.ts';
import { MAIN, REPOSITORY } from './support/build.ts';
import { useCommand } from './support/command.ts';
import { describeWith } from './support/needs.ts';

const glovebox = useCommand();

describe('the exit status', () => {
  it.each([
    ['0 when the program succeeds', 'pass', 0],
    ["the program's own", 'import sys; sys.exit(7)', 7],
    ['1 for an uncaught error', 'raise ValueError("x")', 1],
    ['255 for the largest that a program can give', 'import os; os._exit(255)', 255],
    ['137 when the program was killed', 'import os; os.kill(os.getpid(), 9)', 137],
    ['137 also for another signal', 'import os; os.kill(os.getpid(), 11)', 137],
  ])('is %s', async (_, code, status) => {
    expect((await glovebox.run(['run', '-c', code])).status).toBe(status);
  });

  it('is 124 when the time was over', async () => {
    const { status, stdout, stderr } = await glovebox.run([
      ...['run', '--timeout', '0.5', '-c', 'print("so far", flush=True)\nwhile True: pass'],
    ]);
    expect({ status, stdout }).toEqual({ status: 124, stdout: 'so far\n' });
    expect(stderr).toMatch(/timed out after 0\.5 s/);
  });

  it('is 126 when an import is blocked, and nothing of the program runs', async () => {
    const { status, stdout, stderr } = await glovebox.run(['run', '-c', 'print("ran")\nimport subprocess'], {
      env: { SANDBOX_BLOCK_DANGEROUS_IMPORTS: 'true' },
    });
    expect({ status, stdout }).toEqual({ status: 126, stdout: '' });
    expect(stderr).toContain('subprocess');
  });

  it('is 125 when Glovebox itself failed', async () => {
    expect((await glovebox.run(['run', 'no-such-file.py'])).status).toBe(125);
  });

  it.each([
    ['held as tightly as it can be', {}],
    ['a plain process', { SANDBOX_LOCAL_ISOLATION: 'none' }],
  ])('is 130 after Ctrl-C for a program that is %s, and what it printed is kept', async (_, env) => {
    const nonce = `nonce-${crypto.randomUUID()}`;
    const code = 'print("ready", flush=True)\nwhile True: pass';
    const running = await glovebox.start(['run', '-c', code, '--', nonce], { env });
    await running.prints('ready\n');
    // A terminal sends it to the whole group, so whatever the command started there gets it too.
    process.kill(-running.pid, 'SIGINT');
    const { status, stdout } = await running.finished;
    expect({ status, stdout }).toEqual({ status: 130, stdout: 'ready\n' });
    expect(processesWith(nonce)).toEqual([]);
  });
});

describeWith(['linux'], 'a program that takes too much memory', () => {
  it('is 137 and says which limit it was', async () => {
    const { status, stderr } = await glovebox.run(
      ['run', '--memory-mb', '64', '-c', 'x = b"x" * (1 << 30)\nprint(len(x))'],
      { env: { SANDBOX_DISK_MB: '16' } },
    );
    // Where only rlimits hold, Python says so itself, with a MemoryError.
    expect([1, 137]).toContain(status);
    expect(stderr).toMatch(/out of memory: the limit is 64 MB|MemoryError/);
  });
});

describe('output', () => {
  it('goes to the stream that the program wrote it to', async () => {
    const { stdout, stderr } = await glovebox.run(
      ['run', '-c', 'import sys; print("out"); print("err", file=sys.stderr)'],
      { env: { SANDBOX_LOCAL_ISOLATION: 'auto' } },
    );
    expect(stdout).toBe('out\n');
    expect(stderr.replace(/^glovebox: warning: .*\n/, '')).toBe('err\n');
  });

  it('is passed on byte for byte, also what is no text', async () => {
    const code = 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 500)';
    const { status, bytes } = await glovebox.run(['run', '-c', code]);
    const expected = Buffer.concat(
      Array.from({ length: 500 }, () => Buffer.from(Uint8Array.from(range(256)))),
    );
    expect({ status, length: bytes.length }).toEqual({ status: 0, length: expected.length });
    expect(bytes.equals(expected)).toBe(true);
  });

  it('keeps characters of several bytes whole, however they are flushed', async () => {
    const code = [
      'import sys',
      'for byte in "héllo wörld – 🎉\\n".encode():',
      '    sys.stdout.buffer.write(bytes([byte])); sys.stdout.buffer.flush()',
    ].join('\n');
    expect((await glovebox.run(['run', '-c', code])).stdout).toBe('héllo wörld – 🎉\n');
  });

  it('is passed on whole where no limit is asked for', async () => {
    const { bytes } = await glovebox.run(['run', '-c', 'print("x" * 1_000_000)']);
    expect(bytes.length).toBe(1_000_001);
  });

  it('is cut where a limit is asked for', async () => {
    const { stdout } = await glovebox.run(['run', '--max-output-kb', '1', '-c', 'print("x" * 1_000_000)']);
    expect(stdout).toContain('... (output truncated)');
    expect(stdout.length).toBeLessThan(1200);
  });

  it('comes while the program still runs', async () => {
    const running = await glovebox.start(['run', '-c', 'print("early", flush=True)\nprint(input())'], {
      stdin: 'open',
    });
    await running.prints('early');
    running.stdin?.end('late\n');
    expect((await running.finished).stdout).toBe('early\nlate\n');
  });

  it('may have a reader that goes away', async () => {
    glovebox.file('many.py', 'for number in range(200_000): print(number)');
    const script = `node '${MAIN}' run many.py | head -1; echo "status \${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await glovebox.run([], { wrapper: ['bash', '-c', script, 'bash'] });
    expect(stdout).toMatch(/^0\nstatus \d+\n$/);
    expect(stderr).not.toMatch(/bug of Glovebox|Unexpected|at .*\.js:\d+/);
    expect(stdout).not.toContain('status 125');
  });
});

describe('--json', () => {
  it('prints one result with the names of the contract, and nothing else', async () => {
    const { status, stdout } = await glovebox.run(['run', '--json', '-c', "print('Hello')"]);
    expect(stdout.trimEnd()).not.toContain('\n');
    const result = JSON.parse(stdout);
    expect({ status, ...result }).toMatchObject({
      status: 0,
      stdout: 'Hello\n',
      stderr: '',
      exit_code: 0,
      truncated: false,
      timed_out: false,
      outcome: 'exited',
      ok: true,
      meta: {
        runtime: 'local',
        language: 'python',
        truncated: false,
        timed_out: false,
        blocked_imports: [],
        stdout_bytes: 6,
        stderr_bytes: 0,
        resource_limits: { memory_mb: 512, disk_mb: 256, processes: 64, timeout_sec: 30, max_output_kb: 10 },
        enforced: {
          isolation: expect.stringMatching(/^(process|namespace)$/),
          limits: { timeout_sec: { value: 30, by: 'timer', default: true } },
        },
        sandbox_id: expect.stringMatching(/./),
        execution_id: expect.stringMatching(/./),
      },
    });
    expect(result.duration).toBeGreaterThan(0);
    expect(result.duration).toBeLessThan(1);
  });

  it('has no name in camelCase', async () => {
    const { stdout } = await glovebox.run(['run', '--json', '--timeout', '5', '-c', 'pass']);
    expect(keysOf(JSON.parse(stdout)).filter((key) => /[A-Z]/.test(key))).toEqual([]);
  });

  it('says -1 when the time was over, while the exit status is 124', async () => {
    const { status, stdout } = await glovebox.run([
      ...['run', '--json', '--timeout', '0.5', '-c', 'print("so far", flush=True)\nwhile True: pass'],
    ]);
    const result = JSON.parse(stdout);
    expect({ status, ...result }).toMatchObject({
      status: 124,
      exit_code: -1,
      timed_out: true,
      outcome: 'timed_out',
      ok: false,
      stdout: 'so far\n',
      meta: { timed_out: true, killed_by: 'timeout' },
    });
    expect(result.stderr).toMatch(/timed out.*0\.5/);
  });

  it.each([
    ['7 of its own', 'import sys; sys.exit(7)', 7, { outcome: 'exited', exit_code: 7 }],
    [
      'a signal',
      'import os; os.kill(os.getpid(), 9)',
      137,
      { outcome: 'killed', exit_code: 137, meta: { signal: 9 } },
    ],
    ['a traceback', 'raise ValueError("x")', 1, { outcome: 'exited', exit_code: 1 }],
  ])('keeps the exit status for %s', async (_, code, status, expected) => {
    const finished = await glovebox.run(['run', '--json', '-c', code]);
    expect(finished.status).toBe(status);
    expect(JSON.parse(finished.stdout)).toMatchObject(expected);
  });

  it('shows the whole traceback, which names the program', async () => {
    const { stdout } = await glovebox.run(['run', '--json', '-c', 'raise ValueError("x")']);
    expect(JSON.parse(stdout).stderr).toMatch(/^Traceback[\s\S]*main\.py", line 1[\s\S]*ValueError: x\n$/);
  });

  it('prints a blocked program as a result', async () => {
    const { status, stdout } = await glovebox.run(['run', '--json', '-c', 'import subprocess'], {
      env: { SANDBOX_BLOCK_DANGEROUS_IMPORTS: 'true' },
    });
    expect(status).toBe(126);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'blocked',
      exit_code: 1,
      stderr: expect.stringContaining('subprocess'),
      meta: { blocked_imports: ['subprocess'], enforced: null },
    });
  });

  it('prints an error of ours as an object, with status 125', async () => {
    const { status, stdout, stderr } = await glovebox.run([
      'run',
      '--json',
      '--timeout',
      'abc',
      '-c',
      'pass',
    ]);
    expect({ status, stderr }).toEqual({ status: 125, stderr: '' });
    const parsed = JSON.parse(stdout);
    expect(Object.keys(parsed)).toEqual(['error']);
    expect(parsed.error).toEqual({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('abc'),
      hint: expect.stringMatching(/./),
      details: expect.objectContaining({ origin: 'flag --timeout' }),
    });
  });

  it("is ours only before --, where the program's own arguments begin", async () => {
    const { status, stdout, stderr } = await glovebox.run([
      'run',
      '--timeout',
      'abc',
      '-c',
      'pass',
      '--',
      '--json',
    ]);
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toContain('abc');
  });
});

describe('what is run', () => {
  it('is the code of -c', async () => {
    expect((await glovebox.run(['run', '-c', 'print(6 * 7)'])).stdout).toBe('42\n');
  });

  it('is standard input for -', async () => {
    const { stdout } = await glovebox.run(['run', '-'], { stdin: 'print(6 * 7)\n' });
    expect(stdout).toBe('42\n');
  });

  it.each([
    ['program.py', 'import sys; print("python", sys.version_info.major)', 'python 3\n'],
    ['program.mjs', 'import { basename } from "node:path"; console.log("node", basename("a/b"))', 'node b\n'],
    ['program.js', 'console.log("node", typeof process.version)', 'node string\n'],
    ['program.sh', 'echo "bash $((6 * 7))"', 'bash 42\n'],
    ['program', 'print("python without an ending")', 'python without an ending\n'],
  ])('is the file %s, in the language of its ending', async (name, code, expected) => {
    glovebox.file(name, code);
    const { status, stdout } = await glovebox.run(['run', name]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: expected });
  });

  it.each([
    ['python', 'print("hi")'],
    ['javascript', 'console.log("hi")'],
    ['shell', 'echo hi'],
  ])('is in %s with -l, whatever the ending', async (language, code) => {
    glovebox.file('program.txt', code);
    const { status, stdout } = await glovebox.run(['run', '-l', language, 'program.txt']);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'hi\n' });
  });

  it('gets the arguments after --, as they are', async () => {
    glovebox.file('arguments.py', 'import json, sys; print(json.dumps(sys.argv[1:]))');
    const given = ['--title', 'Two words', '-c', '', '*', '$HOME', '--', '--help', 'é'];
    const { stdout } = await glovebox.run(['run', 'arguments.py', '--', ...given]);
    expect(JSON.parse(stdout)).toEqual(given);
  });

  it('gets them also as the code of -c', async () => {
    const code = 'import json, sys; print(json.dumps(sys.argv[1:]))';
    const { stdout } = await glovebox.run(['run', '-c', code, '--', 'first', '--second']);
    expect(JSON.parse(stdout)).toEqual(['first', '--second']);
  });

  it.each([
    ['javascript', 'console.log(JSON.stringify(process.argv.slice(2)))'],
    ['shell', 'printf \'["%s","%s"]\' "$@"'],
  ])('gets them in %s too', async (language, code) => {
    const { stdout } = await glovebox.run(['run', '-l', language, '-c', code, '--', 'first', '--second']);
    expect(JSON.parse(stdout)).toEqual(['first', '--second']);
  });

  it('is a command with --command', async () => {
    const { status, stdout } = await glovebox.run([
      'run',
      '--command',
      '--',
      'printf',
      '%s|',
      'a b',
      '$HOME',
    ]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'a b|$HOME|' });
  });

  it('has the exit status 127 where there is no such command, as in a shell', async () => {
    const { status, stderr } = await glovebox.run(['run', '--command', '--', 'no-such-command-anywhere']);
    expect(status).toBe(127);
    expect(stderr).toContain('no-such-command-anywhere');
  });
});

describe('help', () => {
  it.each([[['run']], [['doctor']], [['config', 'explain']], [['prune']]])(
    'of %j has examples, each of which is a command that we have',
    async (names) => {
      const { status, stdout } = await glovebox.run([...names, '--help']);
      expect(status).toBe(0);
      const [, examples = ''] = stdout.split(/Examples?:\n/);
      expect(examples).toContain(`glovebox ${names.join(' ')}`);
    },
  );

  it.each([[[]], [['config']]])('is what %j alone prints, without an error of ours', async (names) => {
    const { stdout, stderr } = await glovebox.run(names);
    expect(stdout + stderr).toContain('Usage: glovebox');
    expect(stderr).not.toContain('(outputHelp)');
  });

  it('names the commands', async () => {
    const { stdout } = await glovebox.run(['--help']);
    for (const name of ['run', 'doctor', 'config', 'prune'])
      expect(stdout).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
  });

  it('has the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(`${REPOSITORY}/package.json`, 'utf8'));
    const { status, stdout } = await glovebox.run(['--version']);
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${version}\n` });
  });

  it('is there for whoever starts the file itself, which is executable', async () => {
    await glovebox.run(['--version']);
    expect(execFileSync(MAIN, ['--version'], { encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Every name in it but the ones that are data. */
function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
}
