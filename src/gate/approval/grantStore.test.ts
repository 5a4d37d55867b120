import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Grant, grantFor } from './grant.ts';
import { GrantStore } from './grantStore.ts';
import { Grants } from './grants.ts';
import type { GrantWish, Proposal } from './question.ts';

const proposal: Proposal = {
  operation: 'execute',
  parameters: {},
  policy: {},
  runtime: 'bubblewrap',
  sandboxId: null,
};
const wanted = { proposal, level: 'HIGH' } as const;

let root: string;
let folder: string;
let warnings: string[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'grants-test-'));
  folder = join(root, 'state', 'grants');
  warnings = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const open = () =>
  new Grants({ keeper: new GrantStore({ folder, onWarning: (warning) => warnings.push(warning) }) });

async function give(wish: GrantWish): Promise<Grant> {
  const grant = grantFor(wanted, wish, 'terminal', Date.now());
  await open().add(grant);
  return grant;
}

const pathOf = ({ id }: Grant) => join(folder, `${id}.json`);

describe('a store', () => {
  it('keeps grants for others, in a folder and files that only the user may touch', async () => {
    const grant = await give({ scope: 'exact', count: 3 });
    expect(await open().list()).toEqual([grant]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(pathOf(grant)).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual([`${grant.id}.json`]);
    expect(await open().take(wanted)).toMatchObject({ usesLeft: 1 });
    expect(await open().take(wanted)).toMatchObject({ usesLeft: 0 });
    expect(await open().take(wanted)).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('makes no folder to look for what nobody has given', async () => {
    expect(await open().take(wanted)).toBeUndefined();
    await expect(open().revoke('0123456789abcdef')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(existsSync(folder)).toBe(false);
  });

  it('lets one revoke what another has given', async () => {
    const [kept, revoked] = [await give({ scope: 'exact' }), await give({ scope: 'exact' })];
    await open().revoke(revoked.id);
    expect(await open().list()).toEqual([kept]);
    await open().revokeAll();
    expect(await open().take(wanted)).toBeUndefined();
  });

  it.each([0o755, 0o770, 0o777])('refuses a folder that others may use: %o', async (mode) => {
    await give({ scope: 'exact' });
    chmodSync(folder, mode);
    await expect(open().take(wanted)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('refuses a folder that is a link', async () => {
    await give({ scope: 'exact' });
    renameSync(folder, join(root, 'elsewhere'));
    symlinkSync(join(root, 'elsewhere'), folder);
    await expect(open().take(wanted)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('a file that is not believed', () => {
  it.each<[string, (path: string, grant: Grant) => void]>([
    ['cut short', (path) => writeFileSync(path, readFileSync(path, 'utf8').slice(0, -20))],
    ['empty', (path) => writeFileSync(path, '')],
    ['null', (path) => writeFileSync(path, 'null')],
    ['deeply nested', (path) => writeFileSync(path, '['.repeat(50_000))],
    ['huge', (path, grant) => writeFileSync(path, `${' '.repeat(100_000)}${JSON.stringify(grant)}`)],
    ['of another id', (path, grant) => writeFileSync(path, JSON.stringify({ ...grant, id: '0'.repeat(16) }))],
    ['of an unknown scope', (path, grant) => writeFileSync(path, JSON.stringify({ ...grant, scope: 'all' }))],
    ['of an unknown level', (path, grant) => writeFileSync(path, JSON.stringify({ ...grant, level: 'ANY' }))],
    ['without an end', (path, { expiresAt: _, ...grant }) => writeFileSync(path, JSON.stringify(grant))],
    ['for ever', (path, grant) => writeFileSync(path, JSON.stringify({ ...grant, expiresAt: 'never' }))],
    [
      'for 1e9 times and a half',
      (path, grant) => writeFileSync(path, JSON.stringify({ ...grant, usesLeft: 1e9 + 0.5 })),
    ],
    ['to be written by others', (path) => chmodSync(path, 0o606)],
    ['to be written by a group', (path) => chmodSync(path, 0o620)],
    [
      'a link',
      (path) => {
        renameSync(path, join(root, 'elsewhere'));
        symlinkSync(join(root, 'elsewhere'), path);
      },
    ],
    [
      'a folder',
      (path) => {
        rmSync(path);
        mkdirSync(path);
      },
    ],
  ])('is one that is %s', async (_, change) => {
    const grant = await give({ scope: 'exact' });
    expect(await open().take(wanted)).toBeDefined();
    expect(warnings).toEqual([]);
    change(pathOf(grant), grant);
    const grants = open();
    expect(await grants.take(wanted)).toBeUndefined();
    expect(await grants.list()).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/is not believed: /)]);
    // It is left for a person to look at.
    expect(existsSync(pathOf(grant))).toBe(true);
  });

  it.skipIf(process.getuid?.() !== 0)("is one that is another user's (only root can make one)", async () => {
    chownSync(pathOf(await give({ scope: 'exact' })), 65_534, 65_534);
    expect(await open().take(wanted)).toBeUndefined();
    expect(warnings).toEqual([expect.stringMatching(/belongs to the user 65534/)]);
  });

  it('does not keep others from holding', async () => {
    const [bad, good] = [await give({ scope: 'exact' }), await give({ scope: 'exact' })];
    writeFileSync(pathOf(bad), 'noise');
    writeFileSync(join(folder, 'notes.json'), 'noise');
    expect(await open().take(wanted)).toEqual(good);
  });

  it('is taken away where a process died while it wrote it', async () => {
    const grant = await give({ scope: 'exact' });
    const part = `${pathOf(grant)}.part-0123456789abcdef`;
    writeFileSync(part, 'half');
    await open().list();
    expect(readdirSync(folder)).toEqual([`${grant.id}.json`]);
  });
});

it('is used up by exactly one of several processes, however often they try', async () => {
  const takers = await Promise.all([taker(), taker(), taker()]);
  const rounds = 15;
  for (let round = 0; round < rounds; round++) {
    // One time more, after the one with which it was given.
    await give({ scope: 'exact', count: 2 });
    const taken = await Promise.all(takers.map((take) => take()));
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect(readdirSync(folder)).toEqual([]);
  }
}, 60_000);

/** Another process that tries to take the grant whenever it is told to. */
async function taker(): Promise<() => Promise<boolean>> {
  const url = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
  const code = `
    import { createInterface } from 'node:readline';
    import { Grants } from ${url('./grants.ts')};
    import { GrantStore } from ${url('./grantStore.ts')};
    const [folder, wanted] = process.argv.slice(1);
    const grants = new Grants({ keeper: new GrantStore({ folder }) });
    console.log('ready');
    for await (const _ of createInterface({ input: process.stdin })) {
      const taken = await grants.take(JSON.parse(wanted));
      console.log(taken === undefined ? 'nothing' : 'taken');
    }`;
  const args = ['--import', 'tsx', '--input-type=module', '-e', code, folder, JSON.stringify(wanted)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = async (): Promise<string> => String((await once(child.stdout, 'data'))[0]).trim();
  expect(await said()).toBe('ready');
  return async () => {
    const answer = said();
    child.stdin.write('\n');
    return (await answer) === 'taken';
  };
}
