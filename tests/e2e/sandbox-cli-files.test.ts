/** Files, names and settings of sandboxes that live on from one command to the next. */
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { useSandboxCommands } from './support/sandboxCommands.ts';

const { glovebox, background, succeed, create, listed, fail } = useSandboxCommands();

describe('files', () => {
  it('come and go byte for byte, by a file, by standard input and as a text', async () => {
    const id = await create();
    const bytes = Buffer.from(Uint8Array.from({ length: 100_000 }, (_, index) => (index * 7) % 256));
    writeFileSync(join(glovebox.folder, 'binary'), bytes);
    await succeed('write', id, 'from-file', 'binary');
    await glovebox.run(['sandbox', 'write', id, 'from-stdin'], { stdin: bytes });
    await glovebox.run(['sandbox', 'write', id, 'from-dash', '-'], { stdin: bytes });
    await succeed('write', id, 'text', '--text', 'héllo');
    for (const name of ['from-file', 'from-stdin', 'from-dash']) {
      const read = await glovebox.run(['sandbox', 'read', id, name]);
      expect({ name, status: read.status, same: read.bytes.equals(bytes) }).toEqual({
        name,
        status: 0,
        same: true,
      });
    }
    await succeed('read', id, 'from-file', '-o', 'copy');
    expect(readFileSync(join(glovebox.folder, 'copy')).equals(bytes)).toBe(true);
    expect(await succeed('read', id, 'text')).toBe('héllo');
  });

  it('may have any name, which cannot do anything to a terminal', async () => {
    const id = await create();
    const names = [
      'a b',
      '-dash',
      '100%25',
      'a?b=c&d#e',
      'ünïcödé',
      "it's",
      'new\nline',
      'esc\x1b[31mred',
      '\u202egnp.exe',
    ];
    for (const name of names) {
      await succeed('write', id, '--text', `in ${name}`, '--', name);
      expect(await succeed('read', id, '--', name)).toBe(`in ${name}`);
    }
    const { files } = JSON.parse(await succeed('ls', id, '--json'));
    expect(files.map(({ name }: { name: string }) => name).sort()).toEqual([...names].sort());
    const shown = await succeed('ls', id);
    expect(shown).not.toMatch(/[\x1b\u202e]/);
    expect(shown.trimEnd().split('\n')).toHaveLength(names.length);
  });

  it('are removed, folders only when that is said', async () => {
    const id = await create();
    await succeed('write', id, 'folder/file', '--text', 'x');
    expect((await fail('rm-file', id, 'folder')).status).toBe(125);
    await succeed('rm-file', id, 'folder', '--recursive');
    expect(await succeed('ls', id)).toBe('');
  });

  it.each([
    ['FILE_NOT_FOUND', ['read', 'missing']],
    ['PATH_OUTSIDE_WORKSPACE', ['read', '../../etc/passwd']],
    ['PATH_OUTSIDE_WORKSPACE', ['write', '/etc/glovebox-was-here', '--text', 'x']],
    ['INPUT_INVALID', ['write', 'a', 'no-such-file-of-the-host']],
    ['INPUT_INVALID', ['write', 'a', 'b', '--text', 'x']],
  ])('answer %s to %j', async (code, [command = '', ...args]) => {
    const id = await create();
    expect(await fail(command, id, ...args)).toMatchObject({ status: 125, code });
  });

  it('are carried as whole folders, in and out', async () => {
    const id = await create();
    glovebox.file('project/main.py', 'print(open("data/in.txt").read())');
    glovebox.file('project/data/in.txt', 'carried');
    glovebox.file('project/node_modules/big', 'not carried');
    symlinkSync('/etc/passwd', join(glovebox.folder, 'project/link'));
    const up = await glovebox.run(['sandbox', 'upload', id, 'project', '--exclude', 'node_modules']);
    expect({ ...up, bytes: 0 }).toMatchObject({ status: 0, stdout: expect.stringContaining('2 files') });
    expect(up.stderr).toMatch(/^glovebox: warning: .*link was left out: /);
    expect(await succeed('exec', id, '--command', '--', 'python3', 'main.py')).toBe('carried\n');
    expect(await succeed('download', id, 'data', 'out')).toBe('1 file, 7 bytes\n');
    expect(readFileSync(join(glovebox.folder, 'out/in.txt'), 'utf8')).toBe('carried');
  });
});

describe('sandboxes by their ids', () => {
  it('are as many as were made, and named as was wished', async () => {
    const own = await create('--id', 'My.sandbox_1');
    const other = await create();
    await succeed('write', own, 'a', '--text', 'own');
    await succeed('write', other, 'a', '--text', 'other');
    expect([await succeed('read', own, 'a'), await succeed('read', other, 'a')]).toEqual(['own', 'other']);
    expect(await listed()).toEqual(['My.sandbox_1', other]);
    expect(await fail('create', '--id', own)).toMatchObject({ status: 125, code: 'INPUT_INVALID' });
    expect(await fail('create', '--id', '../up')).toMatchObject({ status: 125, code: 'INPUT_INVALID' });
    await succeed('rm', own);
    expect(await listed()).toEqual([other]);
  });

  it.each([
    ['exec', ['-c', 'pass']],
    ['ls', []],
    ['read', ['a']],
    ['write', ['a', '--text', 'x']],
    ['rm', []],
  ])('are not found by %s where there are none, and where there are others', async (command, args) => {
    const expected = { status: 125, code: 'SANDBOX_NOT_FOUND', message: 'There is no sandbox "nowhere".' };
    expect(await fail(command, 'nowhere', ...args)).toEqual(expected);
    await create();
    expect(await fail(command, 'nowhere', ...args)).toEqual(expected);
  });

  it('are told in a table', async () => {
    await create('--id', 'one', '--runtime', 'local');
    const [head, row, ...rest] = (await succeed('list')).trimEnd().split('\n');
    expect(head).toMatch(/^ID +RUNTIME +LANGUAGE +AGE +EXPIRES IN +RUNNING$/);
    expect(row).toMatch(/^one +local +python +\d+ s +60 min +no$/);
    expect(rest).toEqual([]);
  });

  it('say that they have expired as long as anybody knows, and the last one takes its process along', async () => {
    // First the one that lasts: the process must not end with the other before it is there.
    const lasting = await create();
    const brief = await create('--lifetime', '1');
    await eventually('it has expired', async () => !(await listed()).includes(brief));
    const { code, message } = await fail('exec', brief, '-c', 'pass');
    expect({ code, message }).toEqual({
      code: 'SANDBOX_CLOSED',
      message: expect.stringContaining('lifetime of 1 s'),
    });
    await succeed('rm', lasting);
    await create('--idle-timeout', '1');
    await background.gone();
  });

  it('need no id to be removed all at once', async () => {
    expect(await fail('rm')).toMatchObject({ status: 125, code: 'INPUT_INVALID' });
    expect(await succeed('rm', '--all')).toBe('');
    const ids = [await create(), await create()];
    expect(JSON.parse(await succeed('rm', '--all', '--json')).removed.sort()).toEqual(ids.sort());
    await background.gone();
  });
});

describe('the settings of a sandbox', () => {
  const timeoutOf = async (id: string): Promise<number> => {
    const { stdout } = await glovebox.run(['sandbox', 'exec', id, '--json', '-c', 'pass']);
    return JSON.parse(stdout).meta.resource_limits.timeout_sec;
  };

  it('are those of its own making: folder, file, variables and flags, not those of the first one', async () => {
    const made = async (args: string[], invocation = {}) => {
      const { stdout } = await glovebox.run(['sandbox', 'create', ...args], invocation);
      return timeoutOf(stdout.trimEnd());
    };
    expect(await made([], { env: { SANDBOX_TIMEOUT_SEC: '11' } })).toBe(11);
    expect(await made([])).toBe(30);
    glovebox.file('glovebox.yaml', 'security: { sandbox: { timeout_sec: 12 } }');
    expect(await made([])).toBe(12);
    glovebox.file('other.yaml', 'security: { sandbox: { timeout_sec: 13 } }');
    expect(await made(['--config', 'other.yaml'])).toBe(13);
    expect(await made(['--config', 'other.yaml', '--timeout', '14'])).toBe(14);
    expect(background.pids()).toHaveLength(1);
  });

  it('that cannot be used are refused as by every other command', async () => {
    expect(await fail('create', '--memory-mb', 'much')).toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('--memory-mb is "much"'),
    });
    expect(await fail('create', '--runtime', 'nothing')).toMatchObject({ status: 125 });
    expect(await fail('create', '--config', 'missing.yaml')).toMatchObject({ code: 'CONFIG_INVALID' });
    await background.gone();
  });

  it('of the host around it are those of its own making too: another PATH gets another process', async () => {
    const first = await create();
    const { stdout } = await glovebox.run(['sandbox', 'create'], {
      env: { PATH: `/nonexistent:${process.env['PATH']}` },
    });
    expect(background.pids()).toHaveLength(2);
    expect(await listed()).toEqual([first, stdout.trimEnd()]);
    // A project's own programs, which npx puts there, make no difference.
    await glovebox.run(['sandbox', 'create'], {
      env: { PATH: `/project/node_modules/.bin:${process.env['PATH']}` },
    });
    expect(background.pids()).toHaveLength(2);
    await succeed('rm', '--all');
    await background.gone();
  });
});
