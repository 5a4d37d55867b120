/** The background process that has the sandboxes of the command line. */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { descriptorsOf, NO_TRACES, tracesOf } from '../support/traces.ts';
import { endingsIn, filesIn, startedAlone } from './support/backgroundProcesses.ts';
import { describeWith } from './support/needs.ts';
import { useSandboxCommands } from './support/sandboxCommands.ts';

const { glovebox, background, succeed, create, listed, fail } = useSandboxCommands();

describe('the background process', () => {
  it('holds nothing of whoever started it', async () => {
    const held = glovebox.file('held', '');
    const { status } = await glovebox.run(['sandbox', 'create'], {
      wrapper: ['bash', '-c', `exec 9<'${held}' 17<'${held}' 200<'${held}'; exec "$@"`, 'bash'],
      env: { SECRET_TOKEN: 'secret', SANDBOX_TIMEOUT_SEC: '5' },
    });
    expect(status).toBe(0);
    const pid = background.pid();
    const descriptors = descriptorsOf(pid);
    expect(descriptors.filter((target) => target.startsWith(glovebox.folder))).toEqual([]);
    expect(descriptors.slice(0, 2)).toEqual(['/dev/null', '/dev/null']);
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe('/');
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toMatch(/SECRET_TOKEN|SANDBOX_TIMEOUT_SEC/);
    // The fields after the name: state, parent, group, session, terminal.
    const [, , group, session, terminal] = (
      readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1] ?? ''
    ).split(' ');
    expect({ group, session, terminal }).toEqual({ group: String(pid), session: String(pid), terminal: '0' });
  });

  it('listens where nobody else can, and says in a log of its own what goes on', async () => {
    const id = await create();
    expect(statSync(background.folder).mode & 0o7777).toBe(0o700);
    expect(endingsIn(background.folder)).toEqual(['.log', '.sock']);
    const [log = '', socket = ''] = filesIn(background.folder).sort();
    expect([statSync(socket).mode & 0o7777, statSync(log).mode & 0o7777]).toEqual([0o600, 0o600]);
    expect(readFileSync(log, 'utf8')).toContain(id);
  });

  it('is one, however many ask for the first sandbox at once', async () => {
    const made = await Promise.all(Array.from({ length: 6 }, () => create()));
    expect(new Set(made).size).toBe(6);
    expect((await listed()).sort()).toEqual([...made].sort());
    expect(background.pids()).toHaveLength(1);
    expect(endingsIn(background.folder)).toEqual(['.log', '.sock']);
  });

  it('leaves nothing that stands in the way when it is killed, however many come then at once', async () => {
    const lost = await create();
    const pid = background.pid();
    process.kill(pid, 'SIGKILL');
    await eventually('it is gone', () => background.pids().length === 0);
    expect(endingsIn(background.folder)).toEqual(['.log', '.sock']);
    expect(await listed()).toEqual([]);
    expect(await fail('exec', lost, '-c', 'pass')).toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
    const made = await Promise.all(Array.from({ length: 6 }, () => create()));
    expect((await listed()).sort()).toEqual([...made].sort());
    expect(background.pids()).toHaveLength(1);
    expect(endingsIn(background.folder)).toEqual(['.log', '.sock']);
    await succeed('rm', '--all');
    await background.gone();
    await glovebox.run(['prune']);
    expect(tracesOf(pid)).toEqual(NO_TRACES);
  });

  it('that was killed is swept by prune, and one that lives is not', async () => {
    await create();
    process.kill(background.pid(), 'SIGKILL');
    await eventually('it is gone', () => background.pids().length === 0);
    const { stdout } = await glovebox.run(['prune', '--json']);
    expect(JSON.parse(stdout).removed.background).toBe(1);
    expect(endingsIn(background.folder)).toEqual([]);
    const id = await create();
    await glovebox.run(['prune']);
    expect(await listed()).toEqual([id]);
  });

  it('ends with its sandboxes when it is told to', async () => {
    const id = await create();
    const pid = background.pid();
    process.kill(pid, 'SIGTERM');
    await background.gone();
    expect(tracesOf(pid)).toEqual(NO_TRACES);
    expect(await fail('ls', id)).toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
  });

  it('has a successor however closely its end is followed', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await create();
      const [next] = await Promise.all([create(), succeed('rm', id)]);
      await succeed('rm', next);
    }
    await background.gone();
  });

  it('of another version is told apart', async () => {
    mkdirSync(background.folder, { mode: 0o700 });
    const other = createServer((_, response) => {
      response.setHeader('glovebox-version', '0.0.1').setHeader('glovebox-pid', '4711').end('{}');
    });
    const socket = join(background.folder, '0123456789abcdef.sock');
    await new Promise<void>((resolve) => other.listen(socket, resolve));
    onTestFinished(() => void other.close());
    const { message } = await fail('ls', 'some');
    expect(message).toBe('The background process 4711 is of Glovebox 0.0.1, and this is 0.1.0.');
    other.closeAllConnections();
    await new Promise((resolve) => other.close(resolve));
    rmdirSync(background.folder);
  });
});

describe('a folder that others could use', () => {
  it.each([
    ['is open to others', () => mkdirSync(background.folder, { mode: 0o755 }), 'its mode is 755'],
    ['is a link', () => symlinkSync(glovebox.home, background.folder), 'it is a link'],
    ['is a file', () => writeFileSync(background.folder, ''), 'it is not a folder'],
  ])('is refused when it %s, by whoever asks and by whoever answers', async (_, make, reason) => {
    make();
    for (const args of [['create'], ['list'], ['exec', 'some', '-c', 'pass']]) {
      const { status, code, message } = await fail(...args);
      expect({ status, code, message }).toEqual({
        status: 125,
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(reason),
      });
    }
    expect(await startedAlone(background.folder)).toMatchObject({
      error: { message: expect.stringContaining(reason) },
    });
  });
});

describeWith(['root'], 'a folder of another user', () => {
  it('is refused', async () => {
    mkdirSync(background.folder, { mode: 0o700 });
    chownSync(background.folder, 65_534, 65_534);
    const reason = 'it belongs to the user 65534, not to 0';
    expect((await fail('create')).message).toContain(reason);
    expect((await fail('list')).message).toContain(reason);
    expect(await startedAlone(background.folder)).toMatchObject({
      error: { message: expect.stringContaining(reason) },
    });
  });

  it('is not used as the runtime folder, and what others may rename is refused', async () => {
    const theirs = join(glovebox.home, 'theirs');
    mkdirSync(theirs, { mode: 0o700 });
    chownSync(theirs, 65_534, 65_534);
    const id = await create();
    const { stdout } = await glovebox.run(['sandbox', 'list', '--json'], {
      env: { XDG_RUNTIME_DIR: theirs },
    });
    expect(JSON.parse(stdout).sandboxes).toMatchObject([{ id }]);
    await succeed('rm', id);
    await background.gone();
    chmodSync(glovebox.temporary, 0o777);
    expect((await fail('create')).message).toContain('everybody may rename');
  });

  it('is used as the runtime folder where it is the own one', async () => {
    const own = join(glovebox.home, 'own');
    mkdirSync(own, { mode: 0o700 });
    const env = { XDG_RUNTIME_DIR: own };
    await glovebox.run(['sandbox', 'create', '--id', 'there'], { env });
    expect(endingsIn(join(own, 'glovebox'))).toEqual(['.log', '.sock']);
    expect(await fail('ls', 'there')).toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
    expect((await glovebox.run(['sandbox', 'rm', 'there'], { env })).status).toBe(0);
  });
});
