import { createHash } from 'node:crypto';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ExecutionResult } from '../result/result.ts';
import { type ArtifactStore, storeArtifact, superfluousNames } from './artifacts.ts';

let root: string;
let folder: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'glovebox-artifacts-'));
  folder = join(root, 'artifacts', 'executions');
});
afterEach(() => rm(root, { recursive: true, force: true }));

const startedAt = new Date('2026-11-20T23:30:15.123Z');
const code = "print('hunter22')";
const hash = createHash('sha256').update(code).digest('hex');
const firstName = `20261120T233015.123Z_${hash.slice(0, 12)}.json`;

function result(overrides: Partial<ExecutionResult> = {}): ExecutionResult {
  return {
    stdout: 'hunter22\n',
    stderr: '',
    exitCode: 1,
    duration: 0.5,
    truncated: false,
    timedOut: false,
    outcome: 'exited',
    ok: false,
    meta: {
      runtime: 'local',
      language: 'python',
      enforced: null,
      truncated: false,
      timedOut: false,
      blockedImports: [],
      resourceLimits: {
        memoryMb: 512,
        diskMb: 256,
        processes: 64,
        cpu: null,
        timeoutSec: 30,
        maxOutputKb: 10,
      },
      stdoutBytes: 9,
      stderrBytes: 0,
      versions: { python: '3.12' },
      sandboxId: null,
      executionId: 'e1',
    },
    ...overrides,
  };
}

function store(
  options: Partial<ArtifactStore> = {},
  input: { at?: Date; code?: string; result?: ExecutionResult } = {},
) {
  return storeArtifact(
    { folder, policy: 'always', ...options },
    {
      code: input.code ?? code,
      result: input.result ?? result(),
      startedAt: input.at ?? startedAt,
      // The second and third are also names of the schema, which have to stay readable.
      secrets: ['hunter22', 'code', 'python'],
    },
  );
}

it('stores code and result in snake_case, without secrets in values and in keys of maps', async () => {
  const files = { 'hunter22.txt': Buffer.from('hunter22'), 'a.txt': Buffer.from('abc') };
  const path = (await store({}, { result: result({ files }) })) as string;
  expect(basename(path)).toBe(firstName);
  expect(JSON.parse(await readFile(path, 'utf8'))).toStrictEqual({
    schema_version: 1,
    code: "print('[redacted]')",
    code_sha256: hash,
    language: 'python',
    created_at: '2026-11-20T23:30:15.123Z',
    result: {
      stdout: '[redacted]\n',
      stderr: '',
      exit_code: 1,
      duration: 0.5,
      truncated: false,
      timed_out: false,
      outcome: 'exited',
      ok: false,
      files: { '[redacted].txt': { size: 8 }, 'a.txt': { size: 3 } },
      meta: {
        runtime: 'local',
        language: '[redacted]',
        enforced: null,
        truncated: false,
        timed_out: false,
        blocked_imports: [],
        resource_limits: {
          memory_mb: 512,
          disk_mb: 256,
          processes: 64,
          cpu: null,
          timeout_sec: 30,
          max_output_kb: 10,
        },
        stdout_bytes: 9,
        stderr_bytes: 0,
        versions: { '[redacted]': '3.12' },
        sandbox_id: null,
        execution_id: 'e1',
      },
    },
  });
});

it('stores what the policy says', async () => {
  const success = result({ ok: true, exitCode: 0 });
  expect(await store({ policy: 'never' })).toBeUndefined();
  expect(await store({ policy: 'on_error' }, { result: success })).toBeUndefined();
  await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await store({ policy: 'on_error' })).toBeDefined();
  expect(await store({ policy: 'always' }, { result: success })).toBeDefined();
});

it('lets nobody else read it', async () => {
  const path = (await store()) as string;
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
});

it('numbers what was stored in the same millisecond, and leaves no temporary files', async () => {
  const paths = await Promise.all(Array.from({ length: 20 }, () => store()));
  expect(new Set(paths).size).toBe(20);
  expect((await readdir(folder)).sort()).toEqual(paths.map((path) => basename(path as string)).sort());
  for (const path of paths) expect(JSON.parse(await readFile(path as string, 'utf8'))).toBeTruthy();
});

it('never writes through a link that was planted at the name', async () => {
  const victim = join(root, 'victim');
  await writeFile(victim, 'precious');
  await mkdir(folder, { recursive: true });
  await symlink(victim, join(folder, firstName));
  await symlink(join(root, 'absent'), join(folder, firstName.replace('.json', '-2.json')));
  expect(basename((await store()) as string)).toBe(firstName.replace('.json', '-3.json'));
  expect(await readFile(victim, 'utf8')).toBe('precious');
  await expect(lstat(join(root, 'absent'))).rejects.toMatchObject({ code: 'ENOENT' });
});

it('removes the oldest of its own beyond the count, and nothing else', async () => {
  const days = [1, 2, 3, 4].map((day) => new Date(Date.UTC(2026, 0, day)));
  await mkdir(folder, { recursive: true });
  const foreign = [
    'notes.json',
    'x20200101T000000.000Z_0123456789ab.json',
    '20200101T000000.000Z_0123456789ab.json.bak',
  ];
  for (const name of foreign) await writeFile(join(folder, name), '');
  await mkdir(join(folder, '20200101T000000.000Z_0123456789ab.json'));
  await symlink(root, join(folder, '20200102T000000.000Z_0123456789ab.json'));
  for (const at of days) await store({ maxCount: 2 }, { at });
  const names = (await readdir(folder)).filter((name) => name.startsWith('2026'));
  expect(names.sort().map((name) => name.slice(0, 8))).toEqual(['20260103', '20260104']);
  expect(await readdir(folder)).toHaveLength(names.length + foreign.length + 2);
});

it('removes what is too old', async () => {
  await store({}, { at: new Date(Date.UTC(2026, 9, 1)) });
  await store({}, { at: new Date(Date.UTC(2026, 10, 1)) });
  await store();
  expect((await readdir(folder)).map((name) => name.slice(0, 8)).sort()).toEqual(['20261101', '20261120']);
});

it('keeps what it has just stored, also when the clock went backwards', async () => {
  await store({ maxCount: 1 });
  const path = (await store({ maxCount: 1 }, { at: new Date(Date.UTC(2020, 0, 1)) })) as string;
  expect(await readdir(folder)).toEqual([basename(path)]);
});

it('lets concurrent stores prune the same files', async () => {
  const stores = Array.from({ length: 40 }, (_, i) =>
    store({ maxCount: 3 }, { at: new Date(startedAt.getTime() + i) }),
  );
  const paths = await Promise.all(stores);
  expect(paths.every((path) => path !== undefined)).toBe(true);
  await store({ maxCount: 3 }, { at: new Date(startedAt.getTime() + 1000) });
  expect(await readdir(folder)).toHaveLength(3);
});

it('throws a plain I/O error when the folder cannot be had', async () => {
  await writeFile(join(root, 'artifacts'), '');
  await chmod(join(root, 'artifacts'), 0o600);
  await expect(store()).rejects.toMatchObject({ code: 'ENOTDIR' });
});

it('tells superfluous names by time, and knows its own by the exact pattern', () => {
  const names = [
    '20260101T000000.000Z_aaaaaaaaaaaa.json',
    '20260102T000000.000Z_aaaaaaaaaaaa-2.json',
    '0.json',
  ];
  expect(superfluousNames(names, { maxCount: 1, notBefore: new Date(0) })).toEqual([names[0]]);
  expect(superfluousNames(names, { maxCount: 0, notBefore: new Date(0) })).toEqual([names[1], names[0]]);
  expect(superfluousNames(names, { maxCount: 9, notBefore: new Date('2026-01-02') })).toEqual([names[0]]);
});
