import { spawn } from 'node:child_process';
import { once as event } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findLanguage } from '../../src/languages/index.ts';
import type { LiveSandbox } from '../../src/operations/liveSandbox.ts';
import { Sandbox } from '../../src/sandbox/sandbox.ts';
import { describeMissing } from '../support/targets.ts';
import { ALL, answer, HELD, open, probe, scratch } from './support.ts';

/** What a program of ours may find without anybody having set it for the program. */
const ALLOWED = ['HOME', 'LANG', 'PATH', 'TMPDIR', 'PWD', 'SHLVL', '_', 'OLDPWD', 'LC_CTYPE'];

const proof = join(mkdtempSync(join(scratch, 'proof-')), 'was-run');

describe.each(ALL)('environment: $name', (target) => {
  let sandbox: LiveSandbox;
  beforeAll(async () => {
    sandbox = await open(target);
  });
  afterAll(() => sandbox.close());

  it('8. is a list of names, whatever the toolkit was started with', async () => {
    const hostile: Record<string, string> = {
      PYTHONPATH: '/evil',
      NODE_OPTIONS: '--no-warnings',
      BASH_ENV: '/evil',
      ENV: '/evil',
      AWS_SECRET_ACCESS_KEY: 'secret',
      SSH_AUTH_SOCK: '/run/agent',
      GITHUB_TOKEN: 'secret',
      LD_LIBRARY_PATH: '/evil',
      HTTPS_PROXY: 'http://evil',
      DBUS_SESSION_BUS_ADDRESS: 'unix:',
      PYTHONSTARTUP: '/evil',
      'BASH_FUNC_printf%%': '() { :; }',
      PS4: '$(id)',
      PROMPT_COMMAND: 'id',
      GLOVEBOX_ANYTHING: 'x',
      SANDBOX_ANYTHING: 'x',
    };
    const before = Object.fromEntries(Object.keys(hostile).map((name) => [name, process.env[name]]));
    Object.assign(process.env, hostile);
    try {
      await using fresh = await open(target);
      for (const [language, code] of [
        ['python', 'import json, os; print(json.dumps(dict(os.environ)))'],
        ['javascript', 'console.log(JSON.stringify(process.env))'],
        ['shell', `node -p 'JSON.stringify(process.env)'`],
      ] as const) {
        const result = await fresh.execute(code, { language, env: { MINE: 'given' } });
        const { MINE, ...found } = answer<Record<string, string>>(result);
        expect(MINE, language).toBe('given');
        expect(
          Object.keys(found).filter((name) => !ALLOWED.includes(name)),
          language,
        ).toEqual([]);
      }
    } finally {
      for (const [name, value] of Object.entries(before)) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
  });

  it('8. what is set for a program arrives byte for byte', async () => {
    const env = {
      SPACES: ' a  b ',
      LINES: 'a\nb\r\n',
      QUOTES: `'"\`$(id)\${HOME}\\`,
      UNICODE: 'ü\u202e😀',
      EMPTY: '',
      EQUALS: '=a=b',
      DASH: '--bind',
      LONG: 'x'.repeat(100_000),
      PATH: '/nowhere',
      HOME: '/tmp',
      TMPDIR: '/tmp',
      LANG: 'C',
      IFS: 'x',
      fd: '7',
      entry: '../..',
      step: 'x',
      glovebox_fd: '0',
      root: '/',
      mount: '/evil',
      number: '9',
      PS1: 'x',
      _: 'mine',
    };
    const found = await probe<Record<string, string>>(sandbox, 'print(json.dumps(dict(os.environ)))', {
      env,
    });
    // bash, which sets the limits, has its own idea of these; no program relies on them.
    const { glovebox_fd: _fd, _: _last, IFS: _ifs, PS1: _prompt, ...kept } = env;
    expect(found).toMatchObject(kept);
  });

  it.each([
    ['BASH_ENV', '/proc/self/environ'],
    ['ENV', `$(touch ${proof})`],
    ['SHELLOPTS', 'xtrace:verbose:noexec'],
    ['BASHOPTS', 'extdebug'],
    ['PS4', `$(touch ${proof})`],
    ['IFS', '/'],
    ['POSIXLY_CORRECT', '1'],
    ['BASH_XTRACEFD', '3'],
    ['BASH_COMPAT', '3.1'],
    ['GLOBIGNORE', '*'],
    ['BASH_ARGV0', 'x'],
    ['CDPATH', '/'],
    ['PATH', '/nowhere'],
    ['HOME', '/nowhere'],
    ['TMPDIR', '/nowhere'],
    ['LANG', 'tr_TR.UTF-8'],
    ['LC_ALL', 'xx'],
    ['glovebox_fd', '1; exit 0 #'],
    ['OPTIND', '5'],
    ['EXECIGNORE', '*'],
    ['TIMEFORMAT', '$(id)'],
    ['MALLOC_CHECK_', '3'],
    ['GETCONF_DIR', '/evil'],
    ['BWRAP_ARGS', '--bind / /'],
    ['LIBMOUNT_FSTAB', '/workspace/fstab'],
    ['G_MESSAGES_DEBUG', 'all'],
  ])('8. %s cannot steer what starts the program', async (name, value) => {
    const result = await sandbox.execute(
      `import json, os; print(json.dumps([os.environ.get(${JSON.stringify(name)}), sorted(fd for fd in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + fd)), len(os.listdir('/proc/self/task'))]))`,
      { env: { [name]: value } },
    );
    expect(result, result.stderr).toMatchObject({ outcome: 'exited', exitCode: 0 });
    expect(result.stderr).toBe('');
    const [seen, descriptors] = answer<[string | null, string[]]>(result);
    expect(descriptors).toEqual(['0', '1', '2']);
    // Some of bash's own do not arrive as they were given; everything else does.
    if (
      !['SHELLOPTS', 'BASHOPTS', 'glovebox_fd', 'BASH_ARGV0', 'OPTIND', 'IFS', 'GLOBIGNORE', 'PS4'].includes(
        name,
      )
    )
      expect(seen).toBe(value);
    expect(existsSync(proof)).toBe(false);
  });

  it('8. a name that no variable has, and a value with a NUL, are refused', async () => {
    for (const env of [
      { 'BASH_FUNC_exec%%': '() { id; }' },
      { 'BASH_FUNC_printf%%': '() { id; }' },
      { 'a=b': 'x' },
      { '': 'x' },
      { 'A\0B': 'x' },
      { A: 'x\0--bind\0/\0/host' },
      { 'A\n': 'x' },
      { '--setenv': 'x' },
    ]) {
      await expect(sandbox.execute('print(1)', { env }), JSON.stringify(env)).rejects.toMatchObject({
        code: 'INPUT_INVALID',
      });
    }
  });

  it('23. arguments are arguments, whatever is in them', async () => {
    const args = [
      '--',
      '-c',
      '$(id)',
      '`id`',
      '; id',
      '| id',
      '*',
      '~',
      '',
      ' ',
      '\n',
      '\\',
      '"',
      "'",
      '--bind',
      '/',
      '-',
      '@file',
      '\u202e',
      '%s',
      '$HOME',
      '!!',
      '#',
      '\x01\x7f',
    ];
    expect(await probe(sandbox, 'print(json.dumps(sys.argv[1:]))', { args })).toEqual(args);
    const shell = await sandbox.execute('printf "<%s>" "$@"', { language: 'shell', args });
    expect(shell.stdout).toBe(args.map((argument) => `<${argument}>`).join(''));
    await expect(sandbox.execute('print(1)', { args: ['a\0b'] })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
  });

  it('23. arguments beyond what the system takes are refused or arrive, and the sandbox lives on', async () => {
    const args = Array.from({ length: 30 }, () => 'x'.repeat(120_000));
    const said = await sandbox.execute('import sys; print(len(sys.argv))', { args }).then(
      ({ stdout, outcome }) => `${outcome} ${stdout.trim()}`,
      (error: { name: string; code: string }) => `${error.name} ${error.code}`,
    );
    expect(said).toMatch(/^(exited 31|SandboxError INPUT_INVALID)$/);
    expect((await sandbox.execute('print(1)')).stdout).toBe('1\n');
  });
});

describe.each(HELD)('environment below the checks: $name', (target) => {
  it('8. a NUL in a variable cannot add an argument to what builds the sandbox', async () => {
    const policy = {
      network: 'none',
      networkIsDefault: true,
      requires: {},
      limits: {
        memoryMb: { value: 128, default: true },
        diskMb: { value: 16, default: true },
        processes: { value: 32, default: true },
        timeoutSec: { value: 10, default: true },
      },
    } as const;
    const choice = { runtime: target.runtime, version: '', capabilities: target.capabilities, warnings: [] };
    const shell = findLanguage('shell');
    const sandbox = await Sandbox.create(choice, policy, [shell]);
    try {
      const program = {
        run: { code: Buffer.from('ls /host 2>&1'), language: shell },
        args: [],
        files: {},
        collect: [],
        timeoutSec: 5,
        maxOutputBytes: 4096,
      };
      const said = await sandbox.run({ ...program, env: { A: 'x\0--ro-bind\0/etc\0/host' } }).then(
        (outcome) => outcome.stdout.text,
        () => 'refused',
      );
      expect(said).not.toContain('shadow');
      const ordinary = await sandbox.run({ ...program, env: { A: 'x' } });
      expect(ordinary.exitCode).toBe(2);
    } finally {
      await sandbox.close();
    }
  });
});

describe('the environment of the toolkit itself', () => {
  it('8. a hostile one steers neither what builds the sandbox nor what runs in it', async () => {
    const folder = mkdtempSync(join(scratch, 'hostile-'));
    const evil = join(folder, 'evil.sh');
    writeFileSync(evil, `touch ${folder}/was-run\n`);
    const source = new URL('../../src/', import.meta.url).pathname;
    const script = join(folder, 'script.mts');
    writeFileSync(
      script,
      `import { bubblewrap } from '${source}runtimes/bubblewrap/index.ts';
import { local } from '${source}runtimes/local/index.ts';
import { getSandbox } from '${source}operations/getSandbox.ts';
const said = [];
for (const runtime of [bubblewrap(), local({ isolation: 'none' })]) {
  if (!(await runtime.probe()).available) continue;
  const { stdout, stderr, exitCode } = await getSandbox({ runtime, cwd: '${folder}' }).execute('echo fine', { language: 'shell' });
  said.push([stdout, stderr, exitCode]);
}
console.log(JSON.stringify(said));
`,
    );
    const child = spawn(process.execPath, ['--import', 'tsx', script], {
      cwd: join(source, '..'),
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        BASH_ENV: evil,
        ENV: evil,
        SHELLOPTS: 'xtrace',
        PS4: `$(. ${evil})`,
        BASHOPTS: 'expand_aliases',
        'BASH_FUNC_printf%%': `() { . ${evil}; }`,
        'BASH_FUNC_exec%%': `() { . ${evil}; }`,
        'BASH_FUNC_ulimit%%': `() { . ${evil}; }`,
        IFS: '/',
        PYTHONSTARTUP: evil,
        LIBMOUNT_FSTAB: '/nowhere',
      },
    });
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += String(chunk);
    });
    await event(child, 'close');
    const said = JSON.parse(text) as unknown[];
    for (const one of said) expect(one).toEqual(['fine\n', '', 0]);
    expect(said.length).toBeGreaterThan(0);
    expect(existsSync(`${folder}/was-run`)).toBe(false);
    rmSync(folder, { recursive: true, force: true });
  });
});

describeMissing('environment');
