/** The keys of servers, as an operator makes them, replaces them and takes them back. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Keyring } from '../../src/keys/keyring.ts';
import { useCommand } from './support/command.ts';

const glovebox = useCommand();
const keys = (...args: string[]) => glovebox.run(['keys', ...args]);
const folder = () => join(glovebox.home, 'state/glovebox/keys');
const server = () => new Keyring({ folder: folder() });

it('a key is made, replaced and taken back, and a server that runs knows at once', async () => {
  const made = await keys(
    'create',
    '--name',
    'agent',
    '--scope',
    'execute',
    '--scope',
    'audit',
    '--mb-per-hour',
    '5',
  );
  const secret = made.stdout.trimEnd();
  const id = secret.slice(4, 20);
  expect(made).toMatchObject({
    status: 0,
    stdout: `${secret}\n`,
    stderr: expect.stringContaining('not shown again'),
  });
  const running = server();
  const key = { id, name: 'agent', scopes: ['execute', 'audit'], quotas: { bytesPerHour: 5 * 1024 * 1024 } };
  expect(running.authenticate(secret)).toMatchObject(key);
  expect(statSync(folder()).mode & 0o777).toBe(0o700);

  const replaced = JSON.parse((await keys('rotate', id, '--overlap-hours', '0', '--json')).stdout);
  const quotas = {
    ...{ max_sandboxes: null, executions_per_minute: null, cpu_seconds_per_hour: null },
    bytes_per_hour: 5 * 1024 * 1024,
  };
  const told = {
    id,
    name: 'agent',
    scopes: ['execute', 'audit'],
    quotas,
    expires_at: null,
    revoked_at: null,
  };
  expect(replaced).toEqual({ key: { ...told, created_at: expect.any(String) }, secret: expect.any(String) });
  expect([secret, replaced.secret].map((given) => running.authenticate(given)?.id)).toEqual([undefined, id]);

  expect((await keys('list')).stdout).toBe(`${id}  holds  execute,audit  agent  5 MB/h\n`);
  expect(await keys('revoke', id)).toMatchObject({ status: 0, stdout: `Revoked the key ${id} (agent).\n` });
  expect(running.authenticate(replaced.secret)).toBeUndefined();
  expect((await keys('list')).stdout).toMatch(
    new RegExp(`^${id}  revoked \\d{4}-\\d{2}-\\d{2}  execute,audit  agent`),
  );
  const all = await Promise.all([keys('list'), keys('list', '--json')]);
  for (const { stdout, stderr } of all) expect(stdout + stderr).not.toContain(replaced.secret.slice(-43));
});

it('what no key can be made from is said, and nothing is made', async () => {
  const wrong: readonly [args: readonly string[], message: string][] = [
    [['create', '--scope', 'admin'], 'scopes.0: must be of: execute, approve, audit, metrics'],
    [['create', '--name', ''], 'name: must not be empty'],
    [['create', '--name', '\u001b[2J'], 'name: must have no control characters'],
    [['create', '--max-sandboxes', '0'], 'quotas.maxSandboxes: must be a whole number above 0'],
    [['create', '--mb-per-hour', '-1'], '--mb-per-hour is "-1".'],
    [['create', '--executions-per-minute', '1e3'], '--executions-per-minute is "1e3".'],
    [['create', '--expires-in-days', '0'], 'expiresInSec: must be above 0'],
    [['create', 'agent'], 'too many arguments'],
    [['revoke', '../keys'], 'There is no key "../keys".'],
    [['rotate', '0123456789abcdef'], 'There is no key "0123456789abcdef".'],
  ];
  const ended = await Promise.all(wrong.map(([args]) => keys(...args)));
  expect(ended.map(({ status, stdout, stderr }) => ({ status, stdout, stderr }))).toEqual(
    wrong.map(([, message]) => ({ status: 125, stdout: '', stderr: expect.stringContaining(message) })),
  );
  expect(existsSync(join(folder(), 'keys.json'))).toBe(false);
});

it('a file of keys that was cut is told, and stays for whoever repairs it', async () => {
  await keys('create');
  const file = join(folder(), 'keys.json');
  const cut = readFileSync(file, 'utf8').slice(0, -10);
  writeFileSync(file, cut);
  const ended = await Promise.all([keys('list'), keys('create')]);
  for (const { status, stdout, stderr } of ended) {
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toContain('are not believed: it is not what was written there.');
  }
  expect(readFileSync(file, 'utf8')).toBe(cut);
});
