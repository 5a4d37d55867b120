import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sha256, TrustStore } from './trust.ts';
import { proposeTrust, type TrustChange, type TrustProposal } from './trustProposal.ts';

let root: string;
let cwd: string;
let projectFile: string;
let userFile: string;
let surroundings: { cwd: string; env: Record<string, string>; homeDir: string };

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'trust-proposal-test-')));
  cwd = join(root, 'project');
  projectFile = join(cwd, 'glovebox.yaml');
  userFile = join(root, 'home/.config/glovebox/config.yaml');
  mkdirSync(cwd);
  mkdirSync(dirname(userFile), { recursive: true });
  surroundings = { cwd, env: {}, homeDir: join(root, 'home') };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const yaml = (settings: string): string => `security: {sandbox: {${settings}}}`;
const write = (settings: string): void => writeFileSync(projectFile, yaml(settings));
const propose = (): Promise<TrustProposal> => proposeTrust(undefined, surroundings);

async function changes(project: string, user = ''): Promise<readonly TrustChange[]> {
  write(project);
  writeFileSync(userFile, yaml(user));
  return (await propose()).changes;
}

describe('what a person is to look at', () => {
  it('is the bytes of the file at its true place, their hash, and what is known of it', async () => {
    write('timeout_sec: 5');
    symlinkSync(cwd, join(root, 'link'));
    const bytes = Buffer.from(yaml('timeout_sec: 5'));
    const expected = { path: projectFile, bytes, sha256: sha256(bytes), trust: { is: 'unknown' } };
    expect(await propose()).toMatchObject(expected);
    expect(await proposeTrust('../link/glovebox.yaml', surroundings)).toMatchObject(expected);
    const pin = new TrustStore(join(root, 'home/.local/state/glovebox')).pin(projectFile, bytes);
    expect(await propose()).toMatchObject({ trust: { is: 'trusted', pin } });
    write('timeout_sec: 6');
    expect(await propose()).toMatchObject({ trust: { is: 'changed', pin } });
  });

  it('is every setting that would have another value or come from elsewhere', async () => {
    const user = 'memory_mb: 100, disk_mb: 50, timeout_sec: 7';
    const found = await changes('timeout_sec: 5, memory_mb: 200, disk_mb: 50, max_processes: 32', user);
    expect(found).toEqual([
      { name: 'memory_mb', before: 100, after: 200, isPlace: false, loosens: expect.any(String) },
    ]);
    expect(await changes('timeout_sec: 30, fallback: local')).toEqual([
      { name: 'timeout_sec', before: 30, after: 30, isPlace: false },
      { name: 'fallback', before: undefined, after: 'local', isPlace: false, loosens: expect.any(String) },
    ]);
  });

  it('is nothing where the file only tightens, trusted or not', async () => {
    expect(await changes('timeout_sec: 5, block_dangerous_imports: true, type: bubblewrap')).toEqual([]);
  });

  it.each([
    ['type: local', 'type: docker', 'type', 'docker', 'local'],
    [
      'block_dangerous_imports: false',
      'block_dangerous_imports: warn',
      'block_dangerous_imports',
      'warn',
      'false',
    ],
    ['blocked_imports: [a]', 'blocked_imports: [a, b]', 'blocked_imports', ['a', 'b'], ['a']],
    ['network: {enabled_by_default: true}', '', 'network.enabled_by_default', false, true],
    ['network: {allowed_domains: [a.test]}', '', 'network.allowed_domains', [], ['a.test']],
    ['docker_memory_limit: 1g', '', 'docker_memory_limit', '256m', '1024m'],
    ['gate: off', 'gate: strict', 'gate', 'strict', 'off'],
    ['gate: trusted', '', 'gate', undefined, 'trusted'],
    ['audit: off', 'audit: "on"', 'audit', 'on', 'off'],
    ['fallback: local', '', 'fallback', undefined, 'local'],
    ['hitl: {rules: [{}]}', '', 'hitl.rules', undefined, [{}]],
    ['packages_enabled: true', 'packages_enabled: false', 'packages_enabled', false, true],
  ])('says that %s loosens %j', async (project, user, name, before, after) => {
    expect(await changes(project, user)).toEqual([
      { name, before, after, isPlace: false, loosens: expect.stringMatching(/./) },
    ]);
  });

  it('tells which values are places, where something else may lie tomorrow', async () => {
    expect(await changes('python: ./mine, node: node')).toMatchObject([
      { name: 'python', after: join(cwd, 'mine'), isPlace: true },
      { name: 'node', after: 'node', isPlace: false },
    ]);
  });

  it('tells why nothing runs while nobody trusts it', async () => {
    write('python: ./mine');
    expect((await propose()).refusedNow).toContain('python is not taken from a project file');
    write('timeout_sec: 600');
    expect(await propose()).not.toHaveProperty('refusedNow');
  });

  it('does not hide what the environment overrides today', async () => {
    surroundings.env['SANDBOX_TIMEOUT_SEC'] = '5';
    expect(await changes('timeout_sec: 600')).toEqual([
      {
        ...{ name: 'timeout_sec', before: 30, after: 600, isPlace: false },
        ...{ loosens: expect.any(String), variable: 'SANDBOX_TIMEOUT_SEC' },
      },
    ]);
  });

  it('is refused where the file is not valid, is not there, or is never read', async () => {
    await expect(propose()).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(proposeTrust('nowhere/glovebox.yaml', surroundings)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
    await expect(proposeTrust('own.yaml', surroundings)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    for (const settings of ['timout_sec: 5', 'timeout_sec: soon', 'timeout_sec: 5, timeout_sec: 6']) {
      write(settings);
      await expect(propose()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
  });
});
