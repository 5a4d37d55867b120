import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LoadedSettings } from './layers.ts';
import { type LoadOptions, loadSettings } from './load.ts';
import { describeOrigin } from './origin.ts';
import { projectFileLayer } from './projectFile.ts';
import { readTextFile } from './readTextFile.ts';
import { TrustStore } from './trust.ts';

const LOOSE = 'timeout_sec: 600, fallback: local, python: ./mine, block_dangerous_imports: false';
const CHANGED =
  'glovebox.yaml was trusted and has changed since; it may only tighten. Look at it and run: glovebox config trust';

let root: string;
let cwd: string;
let projectFile: string;
let state: string;
let store: TrustStore;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'project-file-test-')));
  cwd = join(root, 'project');
  projectFile = join(cwd, 'glovebox.yaml');
  state = join(root, 'home/.local/state/glovebox');
  mkdirSync(cwd);
  store = new TrustStore(state);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('a project file that is trusted', () => {
  it('counts as the file of the user: it loosens, and nothing in it is refused', async () => {
    const user = join(root, 'home/.config/glovebox');
    mkdirSync(user, { recursive: true });
    writeFileSync(join(user, 'config.yaml'), yaml('timeout_sec: 5, block_dangerous_imports: true'));
    write(LOOSE);
    await expect(load()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    trust();
    const { settings, origins, warnings, trusted } = await load();
    expect(settings).toMatchObject({
      ...{ timeoutSec: 600, fallback: 'local', python: join(cwd, 'mine'), blockDangerousImports: 'false' },
    });
    expect(warnings).toEqual([]);
    expect(trusted.settings).toEqual(settings);
    expect(origins.timeoutSec).toEqual({
      kind: 'trusted project file',
      path: projectFile,
      name: 'timeout_sec',
    });
    expect(describeOrigin(origins.timeoutSec)).toBe(`timeout_sec in the trusted project file ${projectFile}`);
  });

  it('gives way to the environment and to options, and never loosens min_isolation, as the file of the user', async () => {
    write('timeout_sec: 600, memory_mb: 2048, min_isolation: process');
    trust();
    const { settings } = await load({
      env: { SANDBOX_TIMEOUT_SEC: '7', SANDBOX_MIN_ISOLATION: 'kernel' },
      overrides: { memoryMb: 64 },
    });
    expect(settings).toMatchObject({ timeoutSec: 7, memoryMb: 64, minIsolation: 'kernel' });
  });

  it('only tightens after one changed byte, which is told', async () => {
    write('timeout_sec: 600');
    trust();
    write('timeout_sec: 601');
    const { settings, warnings, origins } = await load();
    expect(settings.timeoutSec).toBe(30);
    expect(origins.timeoutSec).toEqual({ kind: 'default' });
    expect(warnings).toEqual([CHANGED, expect.stringContaining('glovebox.yaml asks for timeout_sec 601')]);
    write('timeout_sec: 5');
    expect(await load()).toMatchObject({ settings: { timeoutSec: 5 }, warnings: [CHANGED] });
    write('timeout_sec: 600');
    expect(await load()).toMatchObject({ settings: { timeoutSec: 600 }, warnings: [] });
  });

  it('is refused after a change for what a project file must not name, with the way out', async () => {
    write('python: ./mine');
    trust();
    write('python: ./other');
    await expect(load()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      hint: expect.stringMatching(/^Remove python .*has changed since; .*glovebox config trust$/),
    });
  });

  it('is another file in another folder, whatever it holds', async () => {
    write(LOOSE);
    trust();
    const other = join(root, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'glovebox.yaml'), yaml('timeout_sec: 600'));
    expect(await load({ cwd: other })).toMatchObject({ settings: { timeoutSec: 30 } });
    // A folder that takes the place of the one that was trusted, under its own name.
    expect(await load()).toMatchObject({ settings: { timeoutSec: 600 } });
    renameSync(cwd, join(root, 'before'));
    renameSync(other, cwd);
    expect(await load()).toMatchObject({
      settings: { timeoutSec: 30 },
      warnings: [CHANGED, expect.anything()],
    });
  });

  it('is the same through a link to its folder, and its paths start at the real one', async () => {
    write('python: ./mine');
    trust();
    symlinkSync(cwd, join(root, 'link'));
    const { settings } = await load({ cwd: join(root, 'link') });
    expect(settings.python).toBe(join(cwd, 'mine'));
  });

  it('is none through a link that leads to another folder now', async () => {
    const other = join(root, 'other');
    mkdirSync(other);
    write('python: ./mine');
    trust();
    writeFileSync(join(other, 'glovebox.yaml'), yaml('python: ./mine'));
    symlinkSync(cwd, join(root, 'link'));
    expect((await load({ cwd: join(root, 'link') })).settings.python).toBe(join(cwd, 'mine'));
    rmSync(join(root, 'link'));
    symlinkSync(other, join(root, 'link'));
    await expect(load({ cwd: join(root, 'link') })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('is none as a link to another content, and is one as a link to the same', async () => {
    write('timeout_sec: 600');
    trust();
    renameSync(projectFile, join(root, 'same'));
    writeFileSync(join(root, 'another'), yaml('timeout_sec: 999'));
    symlinkSync(join(root, 'same'), projectFile);
    expect(await load()).toMatchObject({ settings: { timeoutSec: 600 }, warnings: [] });
    rmSync(projectFile);
    symlinkSync(join(root, 'another'), projectFile);
    const { settings, warnings } = await load();
    expect(settings.timeoutSec).toBe(30);
    expect(warnings[0]).toBe(CHANGED);
  });

  it('is what was read, not what lies there when it is looked up', async () => {
    write('timeout_sec: 600');
    trust();
    const good = await readTextFile(projectFile, 'project file');
    writeFileSync(join(root, 'evil'), yaml('timeout_sec: 999'));
    rmSync(projectFile);
    symlinkSync(join(root, 'evil'), projectFile);
    const evil = await readTextFile(projectFile, 'project file');
    if (good === undefined || evil === undefined) throw new Error('Nothing was read.');
    // The link leads to the trusted content again while what was read is the other one, and the other way round.
    rmSync(projectFile);
    write('timeout_sec: 600');
    expect(await projectFileLayer(evil, cwd, state)).toMatchObject({ onlyTightens: true, warning: CHANGED });
    rmSync(projectFile);
    symlinkSync(join(root, 'evil'), projectFile);
    const layer = await projectFileLayer(good, cwd, state);
    expect(layer).toMatchObject({ onlyTightens: false, entries: [{ value: 600 }] });
  });

  it('is not looked at where one file is named instead', async () => {
    write('timeout_sec: 600');
    trust();
    writeFileSync(join(cwd, 'own.yaml'), yaml('memory_mb: 100'));
    const { settings } = await load({ configFile: 'own.yaml' });
    expect(settings).toMatchObject({ timeoutSec: 30, memoryMb: 100 });
  });

  it('must be right, as every file', async () => {
    writeFileSync(projectFile, 'nonsense: true');
    trust();
    await expect(load()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('what is trusted', () => {
  it('stands below XDG_STATE_HOME, and a relative one is ignored', async () => {
    write('timeout_sec: 600');
    const xdg = join(root, 'xdg');
    new TrustStore(join(xdg, 'glovebox')).pin(projectFile, Buffer.from(yaml('timeout_sec: 600')));
    const timeoutWith = async (env: NodeJS.ProcessEnv) => (await load({ env })).settings.timeoutSec;
    expect(await timeoutWith({ XDG_STATE_HOME: xdg })).toBe(600);
    expect(await timeoutWith({})).toBe(30);
    expect(await timeoutWith({ XDG_STATE_HOME: 'xdg' })).toBe(30);
  });

  it.each([
    ['others may use', () => chmodSync(join(state, 'trusted'), 0o777)],
    [
      'is a file',
      () => {
        rmSync(join(state, 'trusted'), { recursive: true });
        writeFileSync(join(state, 'trusted'), '');
      },
    ],
  ])('is not believed in a folder that %s: the file only tightens, and that is told', async (_, spoil) => {
    write('timeout_sec: 600');
    trust();
    expect(await load()).toMatchObject({ settings: { timeoutSec: 600 }, warnings: [] });
    spoil();
    const { settings, warnings } = await load();
    expect(settings.timeoutSec).toBe(30);
    expect(warnings[0]).toMatch(
      /^Nobody can say whether glovebox\.yaml is trusted, so it may only tighten: The folder ".*[^.]\.$/,
    );
  });

  it('is not looked at where there is no project file', async () => {
    mkdirSync(state, { recursive: true });
    writeFileSync(join(state, 'trusted'), 'no folder');
    expect((await load()).warnings).toEqual([]);
  });
});

const yaml = (settings: string): string => `security: {sandbox: {${settings}}}`;

function write(settings: string): void {
  writeFileSync(projectFile, yaml(settings));
}

/** As a person does after looking at it. */
function trust(): void {
  store.pin(projectFile, readFileSync(projectFile));
}

function load(options: LoadOptions = {}): Promise<LoadedSettings> {
  return loadSettings({ cwd, env: {}, homeDir: join(root, 'home'), ...options });
}
