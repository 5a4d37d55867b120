import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { getSandbox } from '../../src/index.ts';
import { useSurroundings } from './support/surroundings.ts';

const surroundings = useSurroundings();
const SUCCESS = 'print("fine")';
const FAILURE = 'raise ValueError("broken")';

const folder = (): string => join(surroundings.folder, 'artifacts/executions');
const artifacts = (): string[] => (existsSync(folder()) ? readdirSync(folder()) : []);

describe.each([
  ['always', { success: 1, failure: 1 }],
  ['on_error', { success: 0, failure: 1 }],
  ['never', { success: 0, failure: 0 }],
  [undefined, { success: 0, failure: 1 }],
] as const)('Given SANDBOX_STORE_CODE=%s', (policy, expected) => {
  it.each([
    ['succeeds', SUCCESS, expected.success],
    ['fails', FAILURE, expected.failure],
  ])('when a program %s, then there are so many artifacts: %#', async (_, code, count) => {
    if (policy !== undefined) surroundings.set('SANDBOX_STORE_CODE', policy);
    const { meta } = await getSandbox().execute(code);
    expect(artifacts()).toHaveLength(count);
    expect(meta.artifact === undefined ? [] : [meta.artifact]).toEqual(
      artifacts().map((name) => join(folder(), name)),
    );
  });
});

describe('Given that every run is stored', () => {
  const storing = (): void => surroundings.set('SANDBOX_STORE_CODE', 'always');

  it('when a program ends, then its artifact holds the code, the result and the time, for its owner only', async () => {
    storing();
    const { meta } = await getSandbox().execute(FAILURE);
    const path = meta.artifact ?? '';
    expect(basename(path)).toMatch(/^\d{8}T\d{6}\.\d{3}Z_[0-9a-f]{12}\.json$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const stored = JSON.parse(readFileSync(path, 'utf8'));
    expect(stored).toMatchObject({
      code: FAILURE,
      language: 'python',
      result: {
        exit_code: 1,
        outcome: 'exited',
        stderr: expect.stringContaining('ValueError: broken'),
        meta: { execution_id: meta.executionId, runtime: 'local' },
      },
    });
    expect(Math.abs(Date.now() - Date.parse(stored.created_at))).toBeLessThan(60_000);
  });

  it('when a program prints the secrets that it was passed and ones of a known shape, then none is in it', async () => {
    storing();
    const passed = 'hunter2-but-longer';
    const shaped = ['sk-ant-', 'a1B2'.repeat(10)].join('');
    const code = [
      'import os, sys, base64',
      `print(os.environ["TOKEN"], "${shaped}")`,
      'print(base64.b64encode(os.environ["TOKEN"].encode()).decode())',
      'print(repr(os.environ["TOKEN"]), file=sys.stderr)',
      `raise ValueError(os.environ["TOKEN"] + "${shaped}")`,
    ].join('\n');
    const { stdout, meta } = await getSandbox().execute(code, { env: { TOKEN: passed } });
    // The caller's own result has them: it is the record that may not.
    expect(stdout).toContain(`${passed} ${shaped}\n`);
    const text = readFileSync(meta.artifact ?? '', 'utf8');
    expect(text).toContain('ValueError');
    expect(
      [passed, shaped, Buffer.from(passed).toString('base64')].filter((secret) => text.includes(secret)),
    ).toEqual([]);
  });

  it('when a secret stands in the code itself, then it is not in it either', async () => {
    storing();
    const { meta } = await getSandbox().execute('key = "hunter2-but-longer"', {
      env: { KEY: 'hunter2-but-longer' },
    });
    expect(readFileSync(meta.artifact ?? '', 'utf8')).not.toContain('hunter2-but-longer');
  });

  it('when the folder cannot be written, then the run is not failed for it and the result says so', async () => {
    storing();
    const notAFolder = join(surroundings.folder, 'file.txt');
    writeFileSync(notAFolder, '');
    surroundings.set('SANDBOX_ARTIFACTS_DIR', join(notAFolder, 'records'));
    const { ok, stdout, meta } = await getSandbox().execute(SUCCESS);
    expect({ ok, stdout, artifact: meta.artifact }).toEqual({
      ok: true,
      stdout: 'fine\n',
      artifact: undefined,
    });
    expect(meta.warnings?.join('\n')).toContain(`artifact could not be stored in ${notAFolder}`);
  });

  it('when the folder is a setting, then it is stored there', async () => {
    storing();
    surroundings.set('SANDBOX_ARTIFACTS_DIR', 'records');
    await getSandbox().execute(SUCCESS);
    expect(readdirSync(join(surroundings.folder, 'records'))).toHaveLength(1);
    expect(artifacts()).toEqual([]);
  });
});
