/** `glovebox mcp config`, and what the settings that it prints start. */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it, onTestFinished } from 'vitest';
import { useCommand } from '../e2e/support/command.ts';

const glovebox = useCommand();

it('refuses a flag of the server that would be lost', async () => {
  const { status, stdout, stderr } = await glovebox.run(['mcp', '--timeout', '5', 'config', 'codex']);
  expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
  expect(stderr).toContain('--timeout stands before "config", where it is lost.');
  expect(stderr).toContain('glovebox mcp config ASSISTANT -- --timeout');
});

it('prints settings that start the server', async () => {
  const { stdout } = await glovebox.run(['mcp', 'config', 'claude-desktop', '--', '--timeout', '7']);
  const { command, args } = JSON.parse(stdout).mcpServers.glovebox;
  const { home, folder } = glovebox;
  const env = { HOME: home, XDG_STATE_HOME: join(home, 'state'), PATH: process.env['PATH'] ?? '' };
  const client = new Client({ name: 'test', version: '1' }, {});
  onTestFinished(() => client.close());
  await client.connect(new StdioClientTransport({ command, args, env, cwd: folder, stderr: 'ignore' }));
  expect((await client.listTools()).tools).toHaveLength(6);
});

it('puts them into the file of an assistant, which may be a link, and keeps its mode and its other entries', async () => {
  const real = glovebox.file('dotfiles/mcp.json', '{"mcpServers":{"other":{"command":"x"}}}');
  chmodSync(real, 0o640);
  mkdirSync(join(glovebox.home, '.cursor'));
  symlinkSync(real, join(glovebox.home, '.cursor', 'mcp.json'));
  const { status, stdout } = await glovebox.run(['mcp', 'install', 'cursor', '--write']);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^\S+mcp\.json, in mcpServers:\n\+ {3}"glovebox": \{\n/);
  const written = JSON.parse(readFileSync(real, 'utf8'));
  expect(written.mcpServers).toEqual({
    other: { command: 'x' },
    glovebox: {
      command: process.execPath,
      args: [expect.stringMatching(/^\/.*\/dist\/cli\/main\.js$/), 'mcp'],
    },
  });
  expect(statSync(real).mode & 0o777).toBe(0o640);
  expect((await glovebox.run(['mcp', 'install', 'cursor', '--write'])).stdout).toMatch(
    /says so already\.\n$/,
  );
});

it('leaves a file alone that it does not understand', async () => {
  const path = glovebox.file('.vscode/mcp.json', '{ // mine\n "servers": {} }');
  const { status, stderr } = await glovebox.run(['mcp', 'install', 'vscode', '--write']);
  expect({ status, stderr }).toEqual({ status: 125, stderr: expect.stringContaining('was left as it is') });
  expect(readFileSync(path, 'utf8')).toBe('{ // mine\n "servers": {} }');
  writeFileSync(path, '');
  expect((await glovebox.run(['mcp', 'install', 'vscode', '--write'])).status).toBe(0);
});

it('says what is wrong with a file that it cannot change, and leaves it as it is', async () => {
  const path = glovebox.file('.vscode/mcp.json', '');
  writeFileSync(path, '{"other":"\xe4"}', 'latin1');
  const refused = async () => {
    const { status, stderr } = await glovebox.run(['mcp', 'install', 'vscode', '--write']);
    expect(status).toBe(125);
    return stderr;
  };
  expect(await refused()).toContain('not written in UTF-8');
  expect(readFileSync(path, 'latin1')).toBe('{"other":"\xe4"}');
  writeFileSync(path, '{}');
  chmodSync(path, 0o444);
  expect(await refused()).toContain('it may only be read');
  expect(readFileSync(path, 'utf8')).toBe('{}');
  rmSync(path);
  symlinkSync('nowhere.json', path);
  expect(await refused()).toContain('was left as it is: ENOENT');
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
  rmSync(path);
  mkdirSync(path);
  expect(await refused()).toContain('was left as it is: EISDIR');
});

it('the example talks to it, and its user decides', async () => {
  const { home, folder, temporary } = glovebox;
  const env = {
    HOME: home,
    XDG_STATE_HOME: join(home, 'state'),
    PATH: process.env['PATH'] ?? '',
    TMPDIR: temporary,
  };
  const example = join(import.meta.dirname, '../../examples/mcp/client.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [example], { cwd: folder, env });
  expect(stdout).toBe('approved: 12\ndenied: denied\nfiles: sales.csv\n');
});
