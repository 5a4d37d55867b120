import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Invocation, useCommand } from './support/command.ts';
import { describeWith } from './support/needs.ts';

const glovebox = useCommand();

/** One sentence, and one hint below it. */
const SENTENCE_AND_HINT = /^glovebox: [^\n]+[.)\]?]\n {2}[^\n]+\n$/;

interface Mistake {
  readonly what: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly file?: readonly [name: string, text: string];
  /** The value that was given. */
  readonly value: string;
  /** Where it was given. */
  readonly origin: string;
  /** What to do instead. */
  readonly fix: RegExp;
}

const MISTAKES: readonly Mistake[] = [
  {
    what: 'a SANDBOX_TYPE that does not exist',
    env: { SANDBOX_TYPE: 'dokcer' },
    value: 'dokcer',
    origin: 'SANDBOX_TYPE',
    fix: /local, bubblewrap, docker, gvisor/,
  },
  {
    what: 'a runtime that this version does not have',
    env: { SANDBOX_TYPE: 'e2b' },
    value: 'e2b',
    origin: 'SANDBOX_TYPE',
    fix: /local, bubblewrap, docker, gvisor/,
  },
  {
    what: 'an engine that is not there',
    env: { SANDBOX_TYPE: 'docker', DOCKER_HOST: 'unix:///no/such.sock' },
    value: '/no/such.sock',
    origin: 'DOCKER_HOST',
    fix: /SANDBOX_TYPE=local/,
  },
  {
    what: 'a DOCKER_SECURITY_OPT that weakens',
    env: { DOCKER_SECURITY_OPT: 'seccomp=unconfined' },
    value: 'seccomp=unconfined',
    origin: 'DOCKER_SECURITY_OPT',
    fix: /unset DOCKER_SECURITY_OPT/,
  },
  {
    what: 'a --runtime that does not exist',
    args: ['--runtime', 'chroot'],
    value: 'chroot',
    origin: '--runtime',
    fix: /local, bubblewrap, docker, gvisor/,
  },
  {
    what: 'a misspelt variable',
    env: { SANDBOX_TIMEOUT_SECS: '5' },
    value: 'SANDBOX_TIMEOUT_SECS',
    origin: 'SANDBOX_TIMEOUT_SECS',
    fix: /SANDBOX_TIMEOUT_SEC\b/,
  },
  {
    what: 'a misspelt key in the project file',
    file: ['folder/glovebox.yaml', 'security:\n  sandbox:\n    timout_sec: 5\n'],
    value: 'timout_sec',
    origin: 'glovebox.yaml',
    fix: /timeout_sec/,
  },
  {
    what: 'a misspelt key in the user file',
    file: ['home/config/glovebox/config.yaml', 'security:\n  sandbox:\n    memroy_mb: 5\n'],
    value: 'memroy_mb',
    origin: 'config.yaml',
    fix: /memory_mb/,
  },
  {
    what: 'a value of the wrong kind in a file',
    file: ['folder/glovebox.yaml', 'security:\n  sandbox:\n    timeout_sec: soon\n'],
    value: 'soon',
    origin: 'glovebox.yaml',
    fix: /number/,
  },
  {
    what: 'a file that is no YAML',
    file: ['folder/glovebox.yaml', 'security: [unclosed\n'],
    value: 'glovebox.yaml',
    origin: 'glovebox.yaml',
    fix: /./,
  },
  { what: 'a timeout of abc', args: ['--timeout', 'abc'], value: 'abc', origin: '--timeout', fix: /number/ },
  { what: 'a timeout of 0', args: ['--timeout', '0'], value: '0', origin: '--timeout', fix: /above 0/ },
  { what: 'a negative timeout', args: ['--timeout', '-5'], value: '-5', origin: '--timeout', fix: /above 0/ },
  { what: 'a timeout of NaN', args: ['--timeout', 'NaN'], value: 'NaN', origin: '--timeout', fix: /number/ },
  {
    what: 'a timeout of abc in the environment',
    env: { SANDBOX_TIMEOUT_SEC: 'abc' },
    value: 'abc',
    origin: 'SANDBOX_TIMEOUT_SEC',
    fix: /number/,
  },
  {
    what: 'a memory limit of 1.5',
    args: ['--memory-mb', '1.5'],
    value: '1.5',
    origin: '--memory-mb',
    fix: /whole/,
  },
  {
    what: 'an isolation that does not exist',
    args: ['--min-isolation', 'strong'],
    value: 'strong',
    origin: '--min-isolation',
    fix: /process, namespace, container, kernel, machine/,
  },
  {
    what: 'an unknown option',
    args: ['--tiemout', '5'],
    value: '--tiemout',
    origin: '--tiemout',
    fix: /--timeout|--help/,
  },
  {
    what: 'a language that does not exist',
    args: ['-l', 'cobol'],
    value: 'cobol',
    origin: 'cobol',
    fix: /python, javascript, shell/,
  },
  {
    what: 'a settings file that is not there',
    args: ['--config', 'absent.yaml'],
    value: 'absent.yaml',
    origin: '--config',
    fix: /Create|correct/,
  },
  {
    what: 'a GLOVEBOX_CONFIG that is not there',
    env: { GLOVEBOX_CONFIG: '/no/such/glovebox.yaml' },
    value: '/no/such/glovebox.yaml',
    origin: 'GLOVEBOX_CONFIG',
    fix: /Create|correct/,
  },
];

describe('125 with the value, where it is from and what to do', () => {
  it.each(MISTAKES)('is the answer to $what', async ({ args = [], env = {}, file, value, origin, fix }) => {
    if (file) glovebox.file(join(glovebox.folder, '..', file[0]), file[1]);
    const { status, stdout, stderr } = await glovebox.run(['run', ...args, '-c', 'print("ran")'], { env });
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toMatch(SENTENCE_AND_HINT);
    expect(stderr).toContain(value);
    expect(stderr).toContain(origin);
    expect(stderr).toMatch(fix);
  });

  it.each(MISTAKES)(
    'is one JSON object with --json for $what',
    async ({ args = [], env = {}, file, value }) => {
      if (file) glovebox.file(join(glovebox.folder, '..', file[0]), file[1]);
      const { status, stdout, stderr } = await glovebox.run(
        ['run', '--json', ...args, '-c', 'print("ran")'],
        { env },
      );
      expect({ status, stderr }).toEqual({ status: 125, stderr: '' });
      expect(JSON.parse(stdout)).toEqual({
        error: {
          code: expect.stringMatching(/^[A-Z_]+$/),
          message: expect.stringContaining(value),
          hint: expect.stringMatching(/\S/),
          details: expect.any(Object),
        },
      });
    },
  );

  it('is the answer to a program that is not there', async () => {
    const { status, stdout, stderr } = await glovebox.run(['run', 'absent.py']);
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toMatch(SENTENCE_AND_HINT);
    expect(stderr).toContain('absent.py');
  });

  it.each([
    ['nothing to run', ['run'], /-c/],
    ['--command without a command', ['run', '--command'], /--command --/],
    ['an unknown command', ['rnu'], /run/],
    ['an unknown setting', ['config', 'explain', 'timeout'], /timeout_sec/],
    ['an unknown runtime to verify', ['doctor', '--verify', 'dokcer'], /local, bubblewrap, docker, gvisor/],
  ])('is the answer to %s', async (_, args, fix) => {
    const { status, stdout, stderr } = await glovebox.run(args);
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toMatch(/^glovebox: [^\n]+\n {2}[^\n]+\n$/);
    expect(stderr).toMatch(fix);
  });

  it('is the answer when the settings switch everything off', async () => {
    const env = { GLOVEBOX_CONFIG: glovebox.file('off.yaml', 'security:\n  sandbox:\n    enabled: false\n') };
    const { status, stdout, stderr } = await glovebox.run(['run', '-c', 'print("ran")'], { env });
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toContain('enabled: false');
  });

  it('is the answer to a language that the operator does not allow', async () => {
    const env = { SANDBOX_SUPPORTED_LANGUAGES: 'javascript' };
    const refused = await glovebox.run(['run', '-c', 'print("ran")'], { env });
    const allowed = await glovebox.run(['run', '-l', 'javascript', '-c', 'console.log("ran")'], { env });
    expect([refused.status, refused.stdout, allowed.status, allowed.stdout]).toEqual([125, '', 0, 'ran\n']);
    expect(refused.stderr).toContain('python');
  });

  it('shows control characters of what was given instead of sending them to the terminal', async () => {
    const { stderr } = await glovebox.run(['run', '\u001b[31mred.py']);
    expect(stderr).toContain('red.py');
    expect(stderr).not.toContain('\u001b');
  });
});

describeWith(['linux'], 'a minimum isolation', () => {
  /** A plain process writes to the host, so that the file tells whether anything ran. */
  async function runPlain(args: readonly string[], env: Record<string, string>) {
    const proof = join(glovebox.folder, 'proof.txt');
    const invocation: Invocation = { env: { SANDBOX_LOCAL_ISOLATION: 'none', ...env } };
    const code = 'import sys; open(sys.argv[1], "w").write("ran")';
    const finished = await glovebox.run(['run', ...args, '-c', code, '--', proof], invocation);
    return { ...finished, ran: existsSync(proof) };
  }

  it('of kernel is refused with one sentence and one hint, and nothing runs', async () => {
    const { status, stdout, stderr, ran } = await runPlain([], { SANDBOX_MIN_ISOLATION: 'kernel' });
    expect({ status, stdout, ran }).toEqual({ status: 125, stdout: '', ran: false });
    expect(stderr).toMatch(SENTENCE_AND_HINT);
    expect(stderr).toContain('kernel');
  });

  it('of process lets the same run', async () => {
    const { status, ran } = await runPlain([], { SANDBOX_MIN_ISOLATION: 'process' });
    expect({ status, ran }).toEqual({ status: 0, ran: true });
  });

  it.each([
    ['the flag', ['--min-isolation', 'namespace'], {}],
    ['the variable', [], { SANDBOX_MIN_ISOLATION: 'namespace' }],
    [
      'the variable, which a flag cannot loosen',
      ['--min-isolation', 'process'],
      { SANDBOX_MIN_ISOLATION: 'namespace' },
    ],
    [
      'the flag, which a variable does not loosen',
      ['--min-isolation', 'namespace'],
      { SANDBOX_MIN_ISOLATION: 'process' },
    ],
  ])('of namespace by %s refuses a plain process', async (_, args, env) => {
    const { status, ran, stderr } = await runPlain(args, env);
    expect({ status, ran }).toEqual({ status: 125, ran: false });
    expect(stderr).toContain('namespace');
  });

  it('of the project file counts too', async () => {
    glovebox.file('glovebox.yaml', 'security:\n  sandbox:\n    min_isolation: machine\n');
    const { status, ran } = await runPlain([], {});
    expect({ status, ran }).toEqual({ status: 125, ran: false });
  });
});

describeWith(['bubblewrap'], 'with bubblewrap', () => {
  it('a minimum isolation of namespace is held', async () => {
    const { status, stdout } = await glovebox.run([
      'run',
      '--json',
      '--min-isolation',
      'namespace',
      '-c',
      'pass',
    ]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout).meta.enforced.isolation).toBe('namespace');
  });

  it('SANDBOX_MIN_ISOLATION=kernel is refused with one sentence and one hint', async () => {
    const { status, stdout, stderr } = await glovebox.run(['run', '-c', 'print(1)'], {
      env: { SANDBOX_MIN_ISOLATION: 'kernel' },
    });
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toMatch(SENTENCE_AND_HINT);
  });
});
