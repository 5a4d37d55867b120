/** The record, as a person and a script look at it and prove it. */
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Finished, useCommand } from './support/command.ts';

const glovebox = useCommand();

const SETTINGS = { SANDBOX_AUDIT: 'on', SANDBOX_LOCAL_ISOLATION: 'none', SANDBOX_STORE_CODE: 'never' };
const folder = (): string => join(glovebox.home, 'state/glovebox/audit');
const logFile = (): string => join(folder(), 'audit-000000000001.jsonl');

const run = (...args: string[]): Promise<Finished> => glovebox.run(args, { env: SETTINGS });
const audit = (...args: string[]): Promise<Finished> => run('audit', ...args);

/** The standard output of one that succeeds without a word beside it. */
async function told(...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await audit(...args);
  expect({ args, status, stderr }).toEqual({ args, status: 0, stderr: '' });
  return stdout;
}

async function refusal(...args: string[]): Promise<unknown> {
  const { status, stdout } = await audit(...args, '--json');
  return { status, code: JSON.parse(stdout).error.code };
}

const records = async (...args: string[]): Promise<Record<string, unknown>[]> =>
  (await told('list', '--json', ...args))
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

describe('audit', () => {
  let id: string;
  beforeEach(async () => {
    expect(await run('run', '-c', 'print(6 * 7)')).toMatchObject({ status: 0, stdout: '42\n' });
    id = String((await records('--type', 'request'))[0]?.['id']);
  });

  it('lists what was recorded, by type, operation, id and time, and the last of it', async () => {
    expect((await told('list')).trimEnd().split('\n')).toEqual([
      expect.stringMatching(
        /^ {5}1 {2}\S+ {2}request {10}[0-9a-f]{8} {2}cli execute python code [0-9a-f]{12}$/,
      ),
      expect.stringMatching(/ 2 .* decision .* allow \(no_gate\): /),
      expect.stringMatching(/ 3 .* started .* execute in local$/),
      expect.stringMatching(/ 4 .* ended .* execute ok exited with 0 after /),
    ]);
    await run('run', '-c', 'import sys; sys.exit(3)');
    const seqs = async (...args: string[]) => (await records(...args)).map(({ seq }) => seq);
    expect(await seqs()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await seqs('--type', 'started', '--type', 'ended')).toEqual([3, 4, 7, 8]);
    expect(await seqs('--id', id)).toEqual([1, 2, 3, 4]);
    expect(await seqs('--operation', 'install_package')).toEqual([]);
    expect(await seqs('-n', '2')).toEqual([7, 8]);
    expect(await seqs('--since', '1h')).toHaveLength(8);
    expect(await seqs('--until', '2020-01-01')).toEqual([]);
    expect(await refusal('list', '--since', 'yesterday')).toEqual({ status: 125, code: 'INPUT_INVALID' });
    expect(await refusal('list', '--last', 'many')).toEqual({ status: 125, code: 'INPUT_INVALID' });
  });

  it('follows what is recorded, and ends at Ctrl-C', async () => {
    const following = await glovebox.start(['audit', 'list', '--follow', '-n', '1'], { env: SETTINGS });
    await following.prints(' 4  ');
    await run('run', '-c', 'pass');
    await following.prints(' 8  ');
    process.kill(following.pid, 'SIGINT');
    expect(await following.finished).toMatchObject({ signal: null });
  });

  it('shows all of one request', async () => {
    const shown = await told('show', id);
    for (const type of ['request', 'decision', 'started', 'ended']) expect(shown).toContain(`  ${type}  `);
    expect(await told('show', '3')).toContain('"runtime": "local"');
    expect(await refusal('show', 'nobody')).toEqual({ status: 125, code: 'INPUT_INVALID' });
  });

  it('verifies, and says what is wrong and where', async () => {
    expect(await told('verify')).toMatch(/^4 records in .*, 1 to 4, are as they were written\./);
    const sound = readFileSync(logFile(), 'utf8');
    writeFileSync(logFile(), sound.replace('"outcome":"exited"', '"outcome":"killed"'));
    const changed = await audit('verify');
    expect(changed.status).toBe(1);
    expect(changed.stdout).toMatch(/^changed: audit-000000000001.jsonl:4: Record 4 was changed\.\n/);
    writeFileSync(logFile(), sound.split('\n').slice(0, 3).join('\n').concat('\n'));
    const cut = await audit('verify', '--json');
    expect(cut.status).toBe(1);
    expect(JSON.parse(cut.stdout)).toMatchObject({ ok: false, flaws: [{ kind: 'cut', seq: 4 }] });
    // Whoever writes next goes on and says so, and it stays told.
    const { meta } = JSON.parse((await run('run', '--json', '-c', 'pass')).stdout);
    expect(meta.warnings).toContainEqual(
      expect.stringMatching(/^The end of the audit log was repaired\. Records? 4 /),
    );
    const later = await audit('verify');
    expect(later).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^cut: .*:4: Record 4 is not there/),
    });
  });

  it('refuses to run what cannot be recorded', async () => {
    writeFileSync(logFile(), readFileSync(logFile(), 'utf8').replace('exited', 'exitet'));
    const { status, stdout, stderr } = await run('run', '-c', 'print("ran")');
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toMatch(
      /\nglovebox: The audit log in .* cannot be written: .*changed\.\n {2}.*audit verify/,
    );
  });

  it('exports what can be verified elsewhere', async () => {
    const out = join(glovebox.folder, 'records.jsonl');
    await told('export', '--out', out);
    expect(readFileSync(out, 'utf8')).toBe(readFileSync(logFile(), 'utf8'));
    expect(await told('export')).toBe(readFileSync(logFile(), 'utf8'));
    expect(await told('verify', out)).toMatch(/^4 records /);
    writeFileSync(out, readFileSync(out, 'utf8').split('\n').toSpliced(1, 1).join('\n'));
    expect((await audit('verify', out)).stdout).toMatch(/^missing: records.jsonl:2: Record 2 is missing/);
    expect(await audit('verify', join(glovebox.folder, 'nothing'))).toMatchObject({ status: 125 });
  });

  it('signs where the log ends, which shows another log in its place', async () => {
    await told('keygen', 'audit.pem');
    expect(statSync(join(glovebox.folder, 'audit.pem')).mode & 0o777).toBe(0o600);
    await told('sign', '--key', 'audit.pem', '--out', 'head.json');
    const signed = ['--head', 'head.json', '--public-key', 'audit.pub.pem'];
    expect(await told('verify', ...signed)).toMatch(/as they were written/);
    await run('run', '-c', 'pass');
    expect(await told('verify', ...signed)).toMatch(/^8 records/);
    // Somebody writes another log, with a head that fits.
    execFileSync('rm', ['-r', folder()]);
    for (const code of ['1', '2', '3']) await run('run', '-c', code);
    expect((await audit('verify')).status).toBe(0);
    const replaced = await audit('verify', ...signed);
    expect(replaced).toMatchObject({ status: 1 });
    expect(replaced.stdout).toMatch(/^replaced: Record 4 is another one than was signed\.\n/);
    const [key, other] = ['audit.pem', 'other.pem'];
    await told('keygen', other);
    expect(await refusal('verify', '--head', 'head.json', '--public-key', 'other.pub.pem')).toMatchObject({
      code: 'INPUT_INVALID',
    });
    expect(await refusal('verify', '--head', 'head.json')).toMatchObject({ code: 'INPUT_INVALID' });
    execFileSync('cp', [join(glovebox.folder, key), folder()]);
    expect((await audit('sign', '--key', join(folder(), key))).stderr).toMatch(
      /lies in the folder of the audit log/,
    );
  });

  it('gives receipts, which are checked with the public key alone', async () => {
    await told('keygen', 'audit.pem');
    await told('receipt', id, '--key', 'audit.pem', '--out', 'receipt.json');
    execFileSync('rm', ['-r', folder()]);
    glovebox.file('main.py', 'print(6 * 7)');
    const check = ['receipt', '--check', 'receipt.json', '--public-key', 'audit.pub.pem'];
    expect(await told(...check, '--code', 'main.py')).toMatch(
      /^The receipt is what was signed on .*\nExecution /,
    );
    expect(JSON.parse(await told(...check, '--json'))).toMatchObject({
      ...{ execution_id: id, operation: 'execute', runtime: 'local', policy: { network: 'none' } },
      decision: { verdict: 'allow' },
      result: { outcome: 'exited', exit_code: 0, stdout: { bytes: 3 }, enforced: { isolation: 'process' } },
    });
    glovebox.file('main.py', 'print(6 * 8)');
    expect((await audit(...check, '--code', 'main.py')).stderr).toMatch(/is not the code that was run/);
    const receipt = JSON.parse(readFileSync(join(glovebox.folder, 'receipt.json'), 'utf8'));
    const payload = Buffer.from(receipt.payload, 'base64').toString().replace('"exited"', '"killed"');
    const forged = { ...receipt, payload: Buffer.from(payload).toString('base64') };
    writeFileSync(join(glovebox.folder, 'receipt.json'), JSON.stringify(forged));
    expect((await audit(...check)).stderr).toMatch(/is not signed by this key, or was changed/);
  });

  it('says that nobody can check a receipt that is not signed, and knows no other ids', async () => {
    const { status, stdout, stderr } = await audit('receipt', id);
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.stringMatching(/^glovebox: warning: .*not signed/),
    });
    expect(JSON.parse(stdout).receipt).toMatchObject({ execution_id: id });
    expect(await refusal('receipt', 'nobody')).toEqual({ status: 125, code: 'INPUT_INVALID' });
  });
});

it('finds no records where there are none, and makes no folder to look', async () => {
  const { status, stdout } = await audit('verify');
  expect({ status, stdout }).toEqual({
    status: 1,
    stdout: expect.stringMatching(/^There are no records in /),
  });
  expect(await told('list')).toBe('');
  expect(() => statSync(folder())).toThrow(/ENOENT/);
});

it('is off for run unless somebody configures it', async () => {
  const env = { SANDBOX_LOCAL_ISOLATION: 'none' };
  await glovebox.run(['run', '-c', 'pass'], { env });
  expect(() => statSync(folder())).toThrow(/ENOENT/);
  const own = join(glovebox.folder, 'own');
  await glovebox.run(['run', '-c', 'pass'], { env: { ...env, SANDBOX_AUDIT_DIR: own } });
  expect(statSync(own).mode & 0o777).toBe(0o700);
});
