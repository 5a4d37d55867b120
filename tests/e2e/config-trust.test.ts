/** A person trusts a project's settings on their terminal, and nobody answers for them. */
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { missingForTerminals, PseudoTerminal } from '../approval/pseudoTerminal.ts';
import { eventually } from '../support/eventually.ts';
import { ensureBuilt, MAIN } from './support/build.ts';
import { useCommand } from './support/command.ts';

const glovebox = useCommand();
const missing = missingForTerminals();

const PROMPT = 'anything else leaves it as it is: ';
const CHANGED = 'glovebox.yaml was trusted and has changed since; it may only tighten.';

const yaml = (...lines: string[]): string =>
  ['security:', '  sandbox:', ...lines.map((line) => `    ${line}`), ''].join('\n');
const projectFile = (text = yaml('timeout_sec: 600')): string => glovebox.file('glovebox.yaml', text);
const pins = (): string => join(glovebox.home, 'state/glovebox/trusted');

/** Runs a command line of bash, in which `$@` is `glovebox config trust` with these arguments, on a terminal of its own. */
async function onTerminal(script: string, ...args: string[]): Promise<PseudoTerminal> {
  await ensureBuilt();
  const { folder, home, temporary } = glovebox;
  const environment = [
    ...[`PATH=${process.env['PATH']}`, `HOME=${home}`, `TMPDIR=${temporary}`],
    ...[`XDG_CONFIG_HOME=${home}/config`, `XDG_STATE_HOME=${home}/state`],
  ];
  const command = [process.execPath, MAIN, 'config', 'trust', ...args];
  return PseudoTerminal.open(
    'env',
    '-C',
    folder,
    '-i',
    ...environment,
    'bash',
    '-c',
    script,
    'bash',
    ...command,
  );
}

/** What the command prints, and `status N`, when these keys are pressed at the prompt. */
async function answered(keys: string, ...args: string[]): Promise<{ screen: string; printed: string }> {
  await using terminal = await onTerminal('"$@"; echo "status $?"', ...args);
  await terminal.shows(PROMPT);
  terminal.type(keys);
  const printed = await terminal.printed();
  return { screen: terminal.screen, printed };
}

async function timeoutNow(): Promise<{ stdout: string; stderr: string }> {
  const { stdout, stderr } = await glovebox.run(['config', 'explain', 'timeout_sec']);
  return { stdout, stderr };
}

const TRUSTED = (path: string) => ({
  stdout: `timeout_sec: 600  # timeout_sec in the trusted project file ${path}\n`,
  stderr: '',
});
const UNTRUSTED = expect.objectContaining({ stdout: 'timeout_sec: 30  # default\n' });

describe.skipIf(missing !== undefined)(
  `glovebox config trust${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    it('lets a file count as the user’s own when a person types yes, until one byte changes', async () => {
      const path = projectFile();
      expect(await timeoutNow()).toEqual(UNTRUSTED);
      const { printed } = await answered('yes\r');
      expect(printed).toMatch(new RegExp(`^Trusted: ${path} \\(SHA-256 [0-9a-f]{64}\\)\\nstatus 0\\n$`));
      expect(await timeoutNow()).toEqual(TRUSTED(path));
      projectFile(yaml('timeout_sec: 601'));
      const changed = await timeoutNow();
      expect(changed).toEqual(UNTRUSTED);
      expect(changed.stderr).toContain(
        `glovebox: warning: ${CHANGED} Look at it and run: glovebox config trust\n`,
      );
      projectFile();
      expect(await timeoutNow()).toEqual(TRUSTED(path));
    });

    it('holds for what is run, and warns whoever runs something when the file has changed', async () => {
      projectFile(yaml('store_code: never'));
      const run = (): Promise<{ status: number | null; stdout: string; stderr: string }> =>
        glovebox.run(['run', '-c', 'print(1)'], { env: { SANDBOX_LOCAL_ISOLATION: 'none' } });
      expect(await run()).toMatchObject({
        ...{ status: 125, stdout: '' },
        stderr: expect.stringContaining('Or look at the whole file and run: glovebox config trust'),
      });
      await answered('yes\r');
      expect(await run()).toMatchObject({ status: 0, stdout: '1\n' });
      projectFile(yaml('store_code: on_error'));
      expect(await run()).toMatchObject({
        status: 125,
        stdout: '',
        stderr: expect.stringContaining(CHANGED),
      });
      projectFile(yaml('timeout_sec: 5'));
      expect(await run()).toMatchObject({
        status: 0,
        stdout: '1\n',
        stderr: expect.stringContaining(CHANGED),
      });
    });

    it.each(['\r', 'y\r'])('takes %j for a no, and keeps nothing', async (keys) => {
      const path = projectFile();
      const { printed } = await answered(keys);
      expect(printed).toMatch(new RegExp(`^Not trusted: ${path} .*\\nstatus 126\\n$`));
      expect(existsSync(pins())).toBe(false);
      expect(await timeoutNow()).toEqual(UNTRUSTED);
    });

    it('shows the whole file safely, with its measure, its hash and what it would change', async () => {
      const hidden = '# \x1b[2J\u202e\u200b\u3164 rows \u2028 more';
      const long = `# ${'long '.repeat(40)}`;
      glovebox.file(
        join(glovebox.home, 'config/glovebox/config.yaml'),
        yaml('memory_mb: 100', 'block_dangerous_imports: true'),
      );
      const path = projectFile(
        yaml(
          long,
          'timeout_sec: 5',
          'memory_mb: 2048',
          'block_dangerous_imports: false',
          'python: ./mine',
        ).concat(hidden.replace('\x1b', '\u009b')),
      );
      const { screen } = await answered('yes\r');
      const ours = /\x1b\[\?2004[hl]|\r\n/g;
      expect(screen.replace(ours, '')).not.toMatch(/[\p{C}\u2028\u3164]/u);
      const rows = screen.split('\r\n');
      for (const row of rows) expect(row.replace(ours, '').length).toBeLessThan(100);
      const file = rows.filter((row) => /^(\d|↪) ┃ /.test(row)).map((row) => row.slice('1 ┃ '.length));
      expect(file.join('')).toBe(
        [
          ...[
            'security:',
            '  sandbox:',
            `    ${long.trimEnd()}␠`,
            '    timeout_sec: 5',
            '    memory_mb: 2048',
          ],
          ...['    block_dangerous_imports: false', '    python: ./mine'],
          '# ⟦U+009B⟧[2J⟦U+202E⟧⟦U+200B⟧⟦U+3164⟧ rows ⟦U+2028⟧ more',
        ].join(''),
      );
      const text = rows.map((row) => row.replace(/^ {2}↪ /, '')).join('');
      expect(text).toContain(`File     ${path}`);
      expect(text).toContain('8 lines, ');
      expect(text).toMatch(/SHA-256 {2}[0-9a-f]{64}/);
      expect(text).toContain('Nothing runs here while nobody trusts it: ');
      expect(text).toContain('- timeout_sec: 30 → 5  - ');
      expect(text).toContain('- memory_mb: 100 → 2048; LOOSENS: ');
      expect(text).toContain('- block_dangerous_imports: "true" → "false"; LOOSENS: ');
      expect(text).toContain(
        `- python: unset → "${join(glovebox.folder, 'mine')}"; LOOSENS: it decides which program this host starts; what lies there is not part of this`,
      );
    });

    it('trusts what was shown, though another file lies there by the time of the answer', async () => {
      projectFile();
      await using terminal = await onTerminal('"$@"');
      await terminal.shows(PROMPT);
      projectFile(yaml('timeout_sec: 999'));
      terminal.type('yes\r');
      await terminal.printed();
      const { stdout, stderr } = await timeoutNow();
      expect(stdout).toBe('timeout_sec: 30  # default\n');
      expect(stderr).toContain(CHANGED);
    });

    it('believes no yes that an agent pipes in', async () => {
      projectFile();
      await using terminal = await onTerminal('"$@" < <(yes yes 2> /dev/null); echo "status $?"');
      await terminal.shows(PROMPT);
      terminal.type('\r');
      expect(await terminal.printed()).toMatch(/^Not trusted: .*\nstatus 126\n$/);
    });

    it('drops what was typed before the question was there', async () => {
      projectFile();
      await using terminal = await onTerminal('until [ -e go ]; do sleep 0.05; done; "$@"; echo "status $?"');
      terminal.type('yes\ryes\ryes');
      // The kernel's echo says that it has all of it.
      await terminal.shows('yes', 3);
      glovebox.file('go', '');
      await terminal.shows(PROMPT);
      terminal.type('\r');
      expect(await terminal.printed()).toMatch(/^Not trusted: .*\nstatus 126\n$/);
    });

    it('asks nobody in the background of a terminal', async () => {
      projectFile();
      await using terminal = await onTerminal('set -m; "$@" & wait $!; echo "status $?"');
      expect(await terminal.printed()).toMatch(/there is no terminal to ask on[\s\S]*status 125\n$/);
      expect(terminal.screen).not.toContain(PROMPT);
    });

    it.each([
      ['an answer', '\r', /^Not trusted: .*\nstatus 126\n/],
      ['a signal', undefined, /^glovebox: cancelled\nstatus 130\n/],
    ])('leaves the terminal as it was after %s', async (_, keys, end) => {
      projectFile();
      const script = `bash -c 'echo $$ > pid; exec "$@"' bash "$@"; echo "status $?" > status; stty -a -F /dev/tty > modes; read -r < /dev/tty`;
      await using terminal = await onTerminal(`stty -a -F /dev/tty > before; ${script}`);
      await terminal.shows(PROMPT);
      const modes = (name: string): string => readFileSync(join(glovebox.folder, name), 'utf8');
      expect(terminal.modes()).not.toBe(modes('before'));
      if (keys === undefined) process.kill(Number(modes('pid')), 'SIGTERM');
      else terminal.type(keys);
      await terminal.shows('\x1b[?2004l');
      await eventually(
        'it has ended',
        () => existsSync(join(glovebox.folder, 'modes')) && modes('modes') !== '',
      );
      expect(terminal.modes()).toBe(modes('before'));
      terminal.type('\r');
      expect((await terminal.printed()) + modes('status')).toMatch(end);
    });

    it('asks nothing about a file that is trusted already', async () => {
      const path = projectFile();
      await answered('yes\r');
      const { status, stdout } = await glovebox.run(['config', 'trust']);
      expect(status).toBe(0);
      expect(stdout).toMatch(new RegExp(`^Trusted already: ${path} `));
    });

    it('lists what is trusted, and whether it still fits, and takes it away', async () => {
      const path = projectFile();
      const other = glovebox.file('other/glovebox.yaml', yaml('memory_mb: 2048'));
      const gone = glovebox.file('gone/glovebox.yaml', yaml('memory_mb: 2048'));
      await answered('yes\r');
      await answered('yes\r', 'other/glovebox.yaml');
      await answered('yes\r', gone);
      writeFileSync(other, yaml('memory_mb: 4096'));
      rmSync(join(glovebox.folder, 'gone'), { recursive: true });
      const list = async () =>
        JSON.parse((await glovebox.run(['config', 'trust', '--list', '--json'])).stdout);
      const entry = (name: string, now: string) => ({
        ...{ path: name, now },
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        trusted_at: expect.stringMatching(/^20\d\d-/),
      });
      expect(await list()).toEqual({
        trusted: [entry(path, 'the same'), entry(gone, 'gone'), entry(other, 'changed')],
        warnings: [],
      });
      const { stdout } = await glovebox.run(['config', 'trust', '--list']);
      expect(
        stdout
          .split('\n')
          .map((line) => line.split(/ {2,}/))
          .map(([now, , , name]) => [now, name]),
      ).toEqual([
        ['the same', path],
        ['gone', gone],
        ['changed', other],
        ['', undefined],
      ]);
      const remove = async (...args: string[]) =>
        (await glovebox.run(['config', 'trust', '--remove', ...args])).stdout;
      expect(await remove()).toBe(`No longer trusted: ${path}\n`);
      expect(await remove()).toBe(`Was not trusted: ${path}\n`);
      expect(await remove(gone)).toBe(`No longer trusted: ${gone}\n`);
      expect(await list()).toEqual({ trusted: [entry(other, 'changed')], warnings: [] });
      const after = await timeoutNow();
      expect(after).toEqual(UNTRUSTED);
      expect(after.stderr).not.toContain(CHANGED);
    });

    it('is not believed where others could have written it, which is told', async () => {
      projectFile();
      await answered('yes\r');
      chmodSync(pins(), 0o777);
      const { stdout, stderr } = await timeoutNow();
      expect(stdout).toBe('timeout_sec: 30  # default\n');
      expect(stderr).toContain('Nobody can say whether glovebox.yaml is trusted, so it may only tighten: ');
      expect(await glovebox.run(['config', 'trust', '--list'])).toMatchObject({ status: 125 });
    });

    it('holds for a sandbox that lives in the background process', async () => {
      projectFile(yaml('timeout_sec: 600', 'store_code: never'));
      await answered('yes\r');
      const env = { SANDBOX_LOCAL_ISOLATION: 'none', XDG_RUNTIME_DIR: glovebox.temporary };
      const made = await glovebox.run(['sandbox', 'create', '--id', 'own', '--json'], { env });
      expect(JSON.parse(made.stdout)).toMatchObject({ id: 'own' });
      await glovebox.run(['sandbox', 'rm', '--all'], { env });
    });
  },
);

describe('without a terminal, glovebox config trust', () => {
  it('is refused, whatever comes on standard input, and says where the settings can go', async () => {
    projectFile();
    for (const stdin of [undefined, 'yes\nyes\n'] as const) {
      const { status, stdout, stderr } = await glovebox.run(
        ['config', 'trust'],
        stdin === undefined ? {} : { stdin },
      );
      expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
      expect(stderr).toContain('there is no terminal to ask on');
      expect(stderr).toContain(join(glovebox.home, 'config/glovebox/config.yaml'));
    }
    expect(existsSync(pins())).toBe(false);
  });

  it.each([
    ['--yes', ['--yes']],
    ['-y', ['-y']],
    ['--json', ['--json']],
    ['--list and a file', ['--list', 'glovebox.yaml']],
    ['--list and --remove', ['--list', '--remove']],
    ['a file of another name', ['own.yaml']],
    ['a file that is not there', ['nowhere/glovebox.yaml']],
  ])('knows nothing of %s', async (_, args) => {
    projectFile();
    glovebox.file('own.yaml', yaml('timeout_sec: 600'));
    const { status, stdout, stderr } = await glovebox.run(['config', 'trust', ...args]);
    expect(status).toBe(125);
    expect(args.includes('--json') ? JSON.parse(stdout).error.code : stderr).toBeTruthy();
    expect(`${stdout}${stderr}`).not.toContain('no terminal');
  });

  it.each([
    ['no YAML', 'a: ['],
    ['an unknown setting', yaml('timout_sec: 5')],
    ['an unusable value', yaml('timeout_sec: soon')],
    ['no text', Buffer.from([0xff, 0xfe])],
  ])('asks nothing about a file that is not valid: %s', async (_, content) => {
    writeFileSync(join(glovebox.folder, 'glovebox.yaml'), content);
    const { status, stderr } = await glovebox.run(['config', 'trust']);
    expect(status).toBe(125);
    expect(stderr).toContain(`${join(glovebox.folder, 'glovebox.yaml')}: `);
    expect(stderr).not.toContain('no terminal');
  });

  it('lists nothing, and makes no folder to look', async () => {
    expect(await glovebox.run(['config', 'trust', '--list'])).toMatchObject({
      status: 0,
      stdout: '',
      stderr: '',
    });
    expect(readdirSync(glovebox.home)).toEqual([]);
  });

  it('finds a file in a folder behind a link at its true place', async () => {
    projectFile();
    symlinkSync(glovebox.folder, join(glovebox.temporary, 'link'));
    const { stdout } = await glovebox.run([
      'config',
      'trust',
      '--remove',
      join(glovebox.temporary, 'link/glovebox.yaml'),
    ]);
    expect(stdout).toBe(`Was not trusted: ${join(glovebox.folder, 'glovebox.yaml')}\n`);
  });
});
