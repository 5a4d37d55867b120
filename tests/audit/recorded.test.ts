/** Nothing is done that is not recorded first, and what was done is recorded whole. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyLog } from '../../src/audit/log/verify.ts';
import { createSandbox, getSandbox, SandboxManager } from '../../src/index.ts';

type Line = Readonly<Record<string, unknown>>;

let folder: string;
let configFile: string;
const disks: string[] = [];
const log = (): string => join(folder, 'log');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'recorded-test-'));
  configFile = settings(log());
});
afterEach(() => {
  for (const disk of disks.splice(0)) execFileSync('umount', [disk]);
  rmSync(folder, { recursive: true, force: true });
});

function settings(auditDir: string, more = ''): string {
  const path = join(folder, 'glovebox.yaml');
  writeFileSync(
    path,
    `security:\n  sandbox:\n    runtime: local\n    local_isolation: none\n    store_code: never\n    audit_dir: ${auditDir}\n${more}`,
  );
  return path;
}

const records = (): Line[] =>
  readdirSync(log())
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => readFileSync(join(log(), name), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line));

const typesOf = (lines: readonly Line[]) => lines.map(({ type }) => type);
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('an execution', () => {
  it('is recorded as asked for, decided, started and ended, with the hashes of what went in and out', async () => {
    const code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)";
    const result = await getSandbox({ configFile }).execute(code, { args: ['a'], env: { A: 'value' } });
    const [request, decision, started, ended] = records();
    const id = result.meta.executionId;
    expect(request).toMatchObject({
      ...{ type: 'request', id, surface: 'library', operation: 'execute', language: 'python' },
      code: { bytes: code.length, sha256: sha256(code) },
      parameters: { args: ['a'], env: ['A'], stdin: null, timeout_sec: 30 },
    });
    expect(decision).toMatchObject({ type: 'decision', id, verdict: 'allow', by: 'no_gate' });
    expect(started).toMatchObject({ type: 'started', id, runtime: 'local', policy: { network: 'none' } });
    expect(ended).toMatchObject({
      ...{ type: 'ended', id, ok: false, outcome: 'exited', exit_code: 3 },
      stdout: { bytes: 4, sha256: sha256('out\n') },
      stderr: { bytes: 4, sha256: sha256('err\n') },
      enforced: { isolation: 'process' },
    });
    expect(records()).toHaveLength(4);
    // Whoever keeps this can show later that the log was cut or replaced.
    expect(result.meta.record).toEqual({ seq: 4, hash: ended?.['hash'] });
  });

  it('is not begun before that is recorded', async () => {
    const marker = join(folder, 'marker');
    // The program reads the log as it is when it begins.
    const code = `print(open(${JSON.stringify(join(log(), 'audit-000000000001.jsonl'))}).read().count('"started"'))`;
    const { stdout } = await getSandbox({ configFile }).execute(code);
    expect(stdout).toBe('1\n');
    expect(existsSync(marker)).toBe(false);
  });

  it('hashes all of its output, what the result leaves out as well', async () => {
    const result = await getSandbox({ configFile }).execute("print('x' * 50000)", { maxOutputKb: 1 });
    expect(result.truncated).toBe(true);
    expect(records().at(-1)).toMatchObject({
      stdout: { bytes: 50_001, sha256: sha256(`${'x'.repeat(50_000)}\n`) },
    });
  });

  it('is recorded with its end when it was blocked, could not be started or was cancelled', async () => {
    const more = "    block_dangerous_imports: 'true'\n    docker_image: there-is-no-such-image:1\n";
    const sandbox = getSandbox({ configFile: settings(log(), more) });
    expect(await sandbox.execute('import os')).toMatchObject({ outcome: 'blocked' });
    expect(typesOf(records())).toEqual(['request', 'finding', 'decision', 'ended']);
    expect(records()[2]).toMatchObject({ verdict: 'block', by: 'import_check' });
    await expect(sandbox.execute('1', { requires: { isolation: 'machine' } })).rejects.toMatchObject({
      code: 'POLICY_NOT_ENFORCEABLE',
    });
    expect(typesOf(records()).slice(4)).toEqual(['request', 'ended']);
    expect(records()[5]).toMatchObject({ ok: false, error: { code: 'POLICY_NOT_ENFORCEABLE' } });
    await sandbox.execute('1', { signal: AbortSignal.abort() }).catch(() => {});
    expect(records().at(-1)).toMatchObject({ type: 'ended', ok: false });
  });

  it('leaves no value of its variables and no key in the log', async () => {
    const [secret, key] = ['correct horse battery', `sk-${'a1'.repeat(12)}`];
    await getSandbox({ configFile }).execute('print(1)', {
      ...{ env: { PASSWORD: secret }, args: ['--password', secret, key] },
      files: { [`${key}.txt`]: secret },
    });
    const text = readFileSync(join(log(), 'audit-000000000001.jsonl'), 'utf8');
    expect(text).not.toContain(secret);
    expect(text).not.toContain(key);
    expect(records()[0]).toMatchObject({
      parameters: { env: ['PASSWORD'], args: ['--password', '[redacted]', '[redacted]'] },
    });
    expect(await verifyLog(log())).toMatchObject({ flaws: [] });
  });
});

describe('what is done in a sandbox that lives on', () => {
  it('is recorded, all of it', async () => {
    {
      await using sandbox = await createSandbox({ configFile });
      await sandbox.execute('print(1)');
      await sandbox.exec(['true']);
      await sandbox.writeFile('a.txt', 'text');
      await sandbox.readFile('a.txt');
      await sandbox.readBytes('a.txt');
      await sandbox.listFiles();
      await sandbox.downloadTo('.', join(folder, 'out'));
      await sandbox.uploadFrom(join(folder, 'out'), 'in');
      (await sandbox.download('.')).resume();
      await sandbox.removeFile('a.txt');
      await expect(sandbox.readFile('a.txt')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
      await using context = await sandbox.context('python');
      await context.execute('1 + 1');
      const process = await sandbox.start(['cat'], { stdin: 'stream' });
      await process.write('told');
      await process.closeStdin();
      await process.wait();
      const endless = await sandbox.start(['sleep', '60']);
      await endless.kill();
      await expect(sandbox.installPackage('requests')).rejects.toMatchObject({ code: /./ });
    }
    const all = records();
    const operations = all.filter(({ type }) => type === 'request').map(({ operation }) => operation);
    expect(operations).toEqual([
      ...['create_sandbox', 'execute', 'execute', 'write_file', 'read_file', 'read_file', 'list_files'],
      ...['read_file', 'write_file', 'read_file', 'remove_file', 'read_file', 'start_context', 'execute'],
      ...['execute', 'write_input', 'execute', 'stop_process'],
    ]);
    // Each has begun once and ended once, and nothing ended before it began.
    for (const { id, operation } of all.filter(({ type }) => type === 'request')) {
      const own = typesOf(all.filter((record) => record['id'] === id));
      const created = operation === 'create_sandbox' ? ['sandbox_created'] : [];
      expect(own).toEqual(['request', 'decision', 'started', ...created, 'ended']);
    }
    expect(all.at(-1)).toMatchObject({ type: 'sandbox_ended', reason: 'closed' });
    const written = all.find(({ operation, type }) => operation === 'write_file' && type === 'request');
    expect(written).toMatchObject({ parameters: { path: 'a.txt' }, code: { sha256: sha256('text') } });
    expect(await verifyLog(log())).toMatchObject({ flaws: [], records: all.length });
  });

  it('is recorded of a manager too, with why each of its sandboxes has ended', async () => {
    const manager = new SandboxManager({ configFile });
    await manager.createSandbox({ sandboxId: 'one' });
    await manager.createSandbox({ sandboxId: 'two' });
    await manager.destroySandbox('one');
    await manager.close();
    const ends = records().filter(({ type }) => type === 'sandbox_ended');
    expect(ends).toMatchObject([
      { sandbox_id: 'one', reason: 'closed' },
      { sandbox_id: 'two', reason: 'manager_closed' },
    ]);
  });
});

describe('where nothing can be recorded', () => {
  const marker = (): string => join(folder, 'marker');
  const touch = (): string => `open(${JSON.stringify(marker())}, 'w')`;

  it('runs nothing, makes no sandbox, and says why', async () => {
    writeFileSync(join(folder, 'file'), '');
    const unwritable = settings(join(folder, 'file', 'log'));
    const refusal = { code: 'AUDIT_UNAVAILABLE', message: /cannot be written/, hint: /SANDBOX_AUDIT_DIR/ };
    await expect(getSandbox({ configFile: unwritable }).execute(touch())).rejects.toMatchObject(
      matching(refusal),
    );
    expect(existsSync(marker())).toBe(false);
    await expect(createSandbox({ configFile: unwritable })).rejects.toMatchObject(matching(refusal));
    // The same does run where it is recorded.
    await getSandbox({ configFile: settings(log()) }).execute(touch());
    expect(existsSync(marker())).toBe(true);
  });

  it.runIf(process.getuid?.() === 0)(
    'stops what is already open when the disk is full, and goes on when it is not',
    async () => {
      const disk = join(folder, 'disk');
      mkdirSync(disk);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]);
      disks.push(disk);
      await using sandbox = await createSandbox({ configFile: settings(join(disk, 'log')) });
      await sandbox.writeFile('kept', 'text');
      fill(join(disk, 'filler'));
      const refusal = matching({ code: 'AUDIT_UNAVAILABLE', message: /ENOSPC/ });
      await expect(sandbox.execute(touch())).rejects.toMatchObject(refusal);
      expect(existsSync(marker())).toBe(false);
      await expect(sandbox.writeFile('b', 'text')).rejects.toMatchObject(refusal);
      await expect(sandbox.start(['touch', marker()])).rejects.toMatchObject(refusal);
      await expect(sandbox.context('python')).rejects.toMatchObject(refusal);
      rmSync(join(disk, 'filler'));
      expect((await sandbox.listFiles()).files.map(({ name }) => name)).toEqual(['kept']);
      await sandbox.execute(touch());
      expect(existsSync(marker())).toBe(true);
      expect(await verifyLog(join(disk, 'log'))).toMatchObject({ flaws: [] });
    },
  );
});

/** Until not one byte more can be written. */
function fill(path: string): void {
  for (let size = 64 * 1024; size >= 1; size = Math.floor(size / 2)) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}

function matching(patterns: Readonly<Record<string, string | RegExp>>): Record<string, unknown> {
  const entries = Object.entries(patterns).map(([name, pattern]) => [
    name,
    pattern instanceof RegExp ? expect.stringMatching(pattern) : pattern,
  ]);
  return Object.fromEntries(entries);
}
