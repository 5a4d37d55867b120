import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LoadOptions, loadSettings } from './load.ts';

let home: string;
let cwd: string;
let userFile: string;
let projectFile: string;

beforeEach(async () => {
  const root = await mkdtemp(join(tmpdir(), 'glovebox-config-'));
  home = join(root, 'home');
  cwd = join(root, 'project');
  userFile = join(home, '.config', 'glovebox', 'config.yaml');
  projectFile = join(cwd, 'glovebox.yaml');
  await mkdir(dirname(userFile), { recursive: true });
  await mkdir(cwd);
});

afterEach(() => rm(dirname(home), { recursive: true, force: true }));

describe('loadSettings', () => {
  it('takes absent files as defaults', async () => {
    const { settings, warnings } = await load();
    expect(settings).toMatchObject({ type: 'local', artifactsDir: join(cwd, 'artifacts', 'executions') });
    expect(warnings).toEqual([]);
  });

  it('lays user file, project file, environment and overrides over one another', async () => {
    await write(userFile, 'timeout_sec: 20, memory_mb: 100, disk_mb: 100, max_processes: 10');
    await write(projectFile, 'memory_mb: 50, disk_mb: 50, max_processes: 5');
    const { settings, origins } = await load({
      env: { SANDBOX_DISK_MB: '40', SANDBOX_MAX_PROCESSES: '4' },
      overrides: { maxProcesses: '3' },
      overrideKind: 'flag',
      overrideNames: { maxProcesses: '--max-processes' },
    });
    expect(settings).toMatchObject({ timeoutSec: 20, memoryMb: 50, diskMb: 40, maxProcesses: 3 });
    expect(origins).toMatchObject({
      timeoutSec: { kind: 'user file', path: userFile, name: 'timeout_sec' },
      memoryMb: { kind: 'project file', path: projectFile, name: 'memory_mb' },
      diskMb: { kind: 'environment', name: 'SANDBOX_DISK_MB' },
      maxProcesses: { kind: 'flag', name: '--max-processes' },
      type: { kind: 'default' },
    });
  });

  it('clamps the project file to the user file and names the user file in the warning', async () => {
    await write(userFile, 'timeout_sec: 20');
    await write(projectFile, 'timeout_sec: 25');
    const { settings, warnings } = await load();
    expect(settings.timeoutSec).toBe(20);
    expect(warnings).toEqual([expect.stringContaining(`Set it in ${userFile}, or set SANDBOX_TIMEOUT_SEC.`)]);
  });

  it('finds the user file below XDG_CONFIG_HOME, and ignores a relative one', async () => {
    await mkdir(join(home, 'xdg', 'glovebox'), { recursive: true });
    await write(join(home, 'xdg', 'glovebox', 'config.yaml'), 'timeout_sec: 7');
    await write(userFile, 'timeout_sec: 8');
    const timeoutWith = async (env: NodeJS.ProcessEnv) => (await load({ env })).settings.timeoutSec;
    expect(await timeoutWith({ XDG_CONFIG_HOME: join(home, 'xdg') })).toBe(7);
    expect(await timeoutWith({ XDG_CONFIG_HOME: 'xdg' })).toBe(8);
    expect(await timeoutWith({ XDG_CONFIG_HOME: '' })).toBe(8);
  });

  it('finds the home of the given environment', async () => {
    await write(userFile, 'timeout_sec: 8');
    expect((await loadSettings({ cwd, env: { HOME: home } })).settings.timeoutSec).toBe(8);
  });

  it('resolves paths where they are written', async () => {
    await write(userFile, 'artifacts_dir: kept, python: bin/python, node: node');
    expect((await load()).settings).toMatchObject({
      artifactsDir: join(dirname(userFile), 'kept'),
      python: join(dirname(userFile), 'bin/python'),
      node: 'node',
    });
    const { settings } = await load({
      env: { SANDBOX_ARTIFACTS_DIR: 'kept' },
      overrides: { bash: './bash' },
    });
    expect(settings).toMatchObject({ artifactsDir: join(cwd, 'kept'), bash: join(cwd, 'bash') });
  });

  it('refuses misspelt variables', async () => {
    await expect(load({ env: { SANDBOX_TIMEOUT: '5' } })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'SANDBOX_TIMEOUT is no setting; SANDBOX_TIMEOUT_SEC is meant, perhaps.',
    });
  });
});

describe('a file that was named', () => {
  it.each([
    ['by the option', () => ({ configFile: 'own.yaml' })],
    ['by GLOVEBOX_CONFIG', () => ({ env: { GLOVEBOX_CONFIG: 'own.yaml' } })],
  ])('%s replaces both files and is trusted', async (_, options) => {
    await write(userFile, 'memory_mb: 100');
    await write(projectFile, 'memory_mb: 50');
    await write(join(cwd, 'own.yaml'), 'timeout_sec: 60, fallback: local');
    const { settings, origins, warnings } = await load(options());
    expect(settings).toMatchObject({ timeoutSec: 60, fallback: 'local', memoryMb: 512 });
    expect(origins.timeoutSec).toEqual({
      kind: 'config file',
      path: join(cwd, 'own.yaml'),
      name: 'timeout_sec',
    });
    expect(warnings).toEqual([]);
  });

  it('by the option wins over GLOVEBOX_CONFIG', async () => {
    await write(join(cwd, 'own.yaml'), 'timeout_sec: 6');
    const { settings } = await load({ configFile: 'own.yaml', env: { GLOVEBOX_CONFIG: 'absent.yaml' } });
    expect(settings.timeoutSec).toBe(6);
  });

  it('must exist', async () => {
    const path = join(cwd, 'absent.yaml');
    await expect(load({ configFile: 'absent.yaml' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `${path}: There is no such file, and the option configFile names it.`,
      details: { path },
    });
    await expect(load({ env: { GLOVEBOX_CONFIG: path } })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      hint: 'Create it, or name another file.',
    });
  });

  it('is not looked for when GLOVEBOX_CONFIG is empty', async () => {
    await write(projectFile, 'timeout_sec: 5');
    expect((await load({ env: { GLOVEBOX_CONFIG: '' } })).settings.timeoutSec).toBe(5);
  });
});

describe('a file that cannot be read is refused:', () => {
  it('a folder', async () => {
    await mkdir(projectFile);
    await refused(projectFile, 'This is not a regular file.');
  });

  it('a pipe, without waiting for a writer', async () => {
    execFileSync('mkfifo', [projectFile]);
    await refused(projectFile, 'This is not a regular file.');
  });

  it('a link to nowhere', async () => {
    await symlink('/nowhere/at/all', userFile);
    await refused(userFile, 'The file cannot be opened (ENOENT).');
  });

  it('a link to itself', async () => {
    await symlink(userFile, userFile);
    await refused(userFile, 'The file cannot be opened (ELOOP).');
  });

  it('a file of more than 1 MiB', async () => {
    await writeFile(projectFile, '#'.repeat(1024 * 1024));
    await expect(load()).resolves.toBeDefined();
    await writeFile(projectFile, '#'.repeat(1024 * 1024 + 1));
    await refused(projectFile, 'The file is larger than 1048576 bytes.');
  });

  it('bytes that are not UTF-8', async () => {
    await writeFile(projectFile, Buffer.from([0x61, 0xff]));
    await refused(projectFile, 'The file is not UTF-8.');
  });

  it('invalid YAML, with the kind of file', async () => {
    await writeFile(projectFile, 'a: [');
    const error = await refused(projectFile, /^This is not YAML that can be read: line 1, column 5: /);
    expect(error).toMatchObject({ details: { path: projectFile, origin: 'project file' } });
  });

  it('one without permission', async (context) => {
    if (process.getuid?.() === 0) return context.skip('root may read every file');
    await writeFile(userFile, '');
    await chmod(userFile, 0);
    await refused(userFile, 'The file cannot be opened (EACCES).');
  });

  it('but a home that is no folder is a home without a file', async () => {
    await expect(load({ homeDir: '/dev/null' })).resolves.toMatchObject({ warnings: [] });
  });
});

it('loads no parser and no other package before there is something to parse', async () => {
  const packages = (await staticImports(join(import.meta.dirname, 'load.ts'))).filter(
    (name) => !name.startsWith('node:'),
  );
  expect(packages).toEqual([]);
  // The same walk does find them where they are used.
  expect(await staticImports(join(import.meta.dirname, 'fileLayer.ts'))).toEqual(
    expect.arrayContaining(['yaml', 'fastest-levenshtein']),
  );
});

function load(options: LoadOptions = {}) {
  return loadSettings({ cwd, homeDir: home, env: {}, ...options });
}

function write(path: string, yaml: string): Promise<void> {
  return writeFile(path, `security: {sandbox: {${yaml}}}`);
}

async function refused(path: string, problem: string | RegExp): Promise<unknown> {
  const error = await load().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: 'SandboxError', code: 'CONFIG_INVALID', details: { path } });
  const { message, hint } = error as { message: string; hint: string };
  expect(message.startsWith(`${path}: `)).toBe(true);
  expect(message.slice(path.length + 2)).toMatch(problem);
  expect(hint).not.toBe('');
  return error;
}

/** Every package that a file imports, through all the files of ours that it imports, without dynamic ones. */
async function staticImports(path: string, seen = new Set<string>()): Promise<readonly string[]> {
  if (seen.has(path)) return [];
  seen.add(path);
  const text = await readFile(path, 'utf8');
  const names = [...text.matchAll(/^(?:import|export)(?! type)[^;]*? from '([^']+)'/gm)].map(
    ([, name]) => `${name}`,
  );
  const nested = names.map((name) =>
    name.startsWith('.') ? staticImports(join(dirname(path), name), seen) : [name],
  );
  return (await Promise.all(nested)).flat();
}
