import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { AuditLog, type AuditLogOptions, type Repair } from './auditLog.ts';
import { logFiles } from './files.ts';
import { GENESIS, MAX_LINE_BYTES, openLine, sealLine } from './line.ts';
import { verifyExport, verifyLog } from './verify.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (count: number, options: Partial<AuditLogOptions> = {}) => {
  const log = new AuditLog({ folder, ...options });
  return Promise.all(Array.from({ length: count }, (_, i) => log.append({ type: 'test', i })));
};

const lines = (): string[] =>
  logFiles(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1));

/** Rewrites the only file of the log. */
function tamper(change: (lines: string[]) => string[]): void {
  const [name = ''] = logFiles(folder);
  writeFileSync(
    join(folder, name),
    change(lines())
      .map((line) => `${line}\n`)
      .join(''),
  );
}

const flaws = async () => (await verifyLog(folder)).flaws.map(({ kind, seq, line }) => ({ kind, seq, line }));

describe('a log', () => {
  it('numbers its records, and each holds the hash of the one before', async () => {
    const places = await write(3);
    const records = lines().map((line) => openLine(Buffer.from(line)));
    expect(records.map((record) => record?.seq)).toEqual([1, 2, 3]);
    expect(records.map((record) => record?.prev)).toEqual([GENESIS, places[0]?.hash, places[1]?.hash]);
    expect(records.map((record) => record?.['i'])).toEqual([0, 1, 2]);
    expect(await verifyLog(folder)).toMatchObject({ records: 3, first: 1, last: places[2], flaws: [] });
  });

  it('goes on where another process has ended, and leaves nothing but the log', async () => {
    await write(2);
    await write(2, { fsync: 'always' });
    expect(await verifyLog(folder)).toMatchObject({ records: 4, flaws: [] });
    expect(readdirSync(folder)).toEqual(['audit-000000000001.jsonl', 'head.json']);
    expect(statSync(join(folder, 'head.json')).mode & 0o777).toBe(0o600);
  });

  it('takes turns with others that write, also in one process', async () => {
    const logs = Array.from({ length: 3 }, () => new AuditLog({ folder }));
    await Promise.all(
      Array.from({ length: 60 }, (_, i) => (logs[i % 3] as AuditLog).append({ type: 'test', i })),
    );
    expect(await verifyLog(folder)).toMatchObject({ records: 60, flaws: [] });
  });

  it('continues in another file when one is large', async () => {
    for (let round = 0; round < 10; round++) await write(5, { maxFileBytes: 1000 });
    const files = logFiles(folder);
    expect(files.length).toBeGreaterThan(3);
    expect(await verifyLog(folder)).toMatchObject({ flaws: [] });
    rmSync(join(folder, files[1] ?? ''));
    expect(await flaws()).toMatchObject([{ kind: 'missing', line: 1 }]);
    // The oldest may be given away.
    rmSync(join(folder, files[0] ?? ''));
    expect(await flaws()).toEqual([]);
  });
});

describe('tampering', () => {
  beforeEach(() => write(10));

  it.each<[string, (lines: string[]) => string[], unknown[]]>([
    [
      'an edit',
      (all) => all.with(4, (all[4] ?? '').replace('"i":4', '"i":5')),
      [{ kind: 'changed', seq: 5, line: 5 }],
    ],
    ['a deletion', (all) => all.toSpliced(4, 1), [{ kind: 'missing', seq: 5, line: 5 }]],
    ['a copy', (all) => all.toSpliced(5, 0, all[4] ?? ''), [{ kind: 'inserted', seq: 5, line: 6 }]],
    [
      'a swap',
      (all) => all.toSpliced(4, 2, all[5] ?? '', all[4] ?? ''),
      [
        { kind: 'missing', seq: 5, line: 5 },
        { kind: 'moved', seq: 5, line: 6 },
      ],
    ],
    ['a cut tail', (all) => all.slice(0, 7), [{ kind: 'cut', seq: 8, line: 8 }]],
    ['all of it', () => [], [{ kind: 'cut', seq: 1, line: 1 }]],
    [
      'a line of something else',
      (all) => all.toSpliced(5, 0, 'noise'),
      [
        { kind: 'changed', seq: 6, line: 6 },
        { kind: 'inserted', seq: 6, line: 7 },
      ],
    ],
  ])('is found at its place: %s', async (_, change, found) => {
    tamper(change);
    expect(await flaws()).toEqual(found);
  });

  it('is found with a hash of its own, too', async () => {
    const other = mkdtempSync(join(tmpdir(), 'audit-test-'));
    const log = new AuditLog({ folder: other });
    for (let i = 0; i < 10; i++) await log.append({ type: 'test', i: i === 4 ? 'forged' : i });
    const forged = readFileSync(join(other, 'audit-000000000001.jsonl'), 'utf8').split('\n')[4] ?? '';
    rmSync(other, { recursive: true });
    tamper((all) => all.with(4, forged));
    expect((await flaws()).map(({ seq }) => seq)).toContain(5);
  });
});

describe('a changed end of the log', () => {
  const path = (): string => join(folder, 'audit-000000000001.jsonl');
  const head = (): string => join(folder, 'head.json');

  /** Another record in the place of this one and of all behind it, with a hash of its own. */
  function forgeFrom(seq: number): void {
    const all = lines();
    const { prev } = JSON.parse(all[seq - 1] ?? '');
    const forged = sealLine({ seq: seq - 1, hash: prev }, new Date().toISOString(), '"type":"forged"');
    const after = sealLine(forged.place, new Date().toISOString(), '"type":"forged"');
    const forgeries = seq === all.length ? [forged] : [forged, after];
    tamper((now) => [...now.slice(0, seq - 1), ...forgeries.map(({ line }) => line)]);
  }

  it('is found as another last record, also after somebody has gone on behind it', async () => {
    await write(5);
    const { last: noted } = await verifyLog(folder);
    forgeFrom(5);
    expect(await flaws()).toMatchObject([{ kind: 'changed', seq: 5 }]);
    const repairs: Repair[] = [];
    await write(1, { onRepair: (repair) => repairs.push(repair) });
    expect(repairs).toEqual([{ type: 'log_repaired', cut_bytes: 0, changed: { noted } }]);
    expect(await flaws()).toMatchObject([{ kind: 'changed', seq: 5 }]);
  });

  it('is found as another record where the last one was noted, with more behind it', async () => {
    await write(5);
    forgeFrom(4);
    const note = readFileSync(head(), 'utf8');
    const real = JSON.parse(note);
    writeFileSync(head(), JSON.stringify({ ...real, seq: 4 }));
    expect(await flaws()).toMatchObject([{ kind: 'changed', seq: 4 }]);
    await write(1);
    expect(await flaws()).toMatchObject([{ kind: 'changed', seq: 4 }]);
  });

  it('is no change where a writer was ended before it noted what it wrote', async () => {
    await write(2);
    const before = readFileSync(head(), 'utf8');
    await write(3);
    writeFileSync(head(), before);
    expect(await flaws()).toEqual([]);
    await write(1);
    expect(await verifyLog(folder)).toMatchObject({ records: 6, flaws: [] });
  });

  it.each(['gone', '', 'noise'])('is found where there is no note of it: %s', async (note) => {
    await write(5);
    tamper((all) => all.slice(0, 3));
    rmSync(head());
    if (note !== 'gone') writeFileSync(head(), note);
    expect(await flaws()).toMatchObject([{ kind: 'unnoted', seq: 4 }]);
    const repairs: Repair[] = [];
    await write(1, { onRepair: (repair) => repairs.push(repair) });
    expect(repairs).toEqual([{ type: 'log_repaired', cut_bytes: 0, unnoted: { after: 3 } }]);
    expect(await flaws()).toMatchObject([{ kind: 'unnoted', seq: 4 }]);
  });

  it('is found where only the end of its line is missing', async () => {
    await write(3);
    truncateSync(path(), statSync(path()).size - 1);
    expect(await flaws()).toMatchObject([
      { kind: 'torn', seq: 3 },
      { kind: 'cut', seq: 3 },
    ]);
    await write(1);
    expect(await flaws()).toMatchObject([{ kind: 'cut', seq: 3 }]);
  });

  it('is nothing that an export could tell', async () => {
    await write(3);
    const exported = join(folder, 'export');
    writeFileSync(exported, readFileSync(path()));
    expect(await verifyExport(exported)).toMatchObject({ records: 3, flaws: [] });
  });
});

describe('a writer that was ended in the middle', () => {
  it.each([1, 40, 200])('leaves what the next one cuts and notes: %i bytes of a record', async (bytes) => {
    await write(3);
    const whole = lines()[2] ?? '';
    const path = join(folder, 'audit-000000000001.jsonl');
    appendFileSync(path, whole.slice(0, bytes));
    expect(await flaws()).toEqual([{ kind: 'torn', seq: 4, line: 4 }]);
    const repairs: Repair[] = [];
    await write(1, { onRepair: (repair) => repairs.push(repair) });
    const cut = Math.min(bytes, whole.length);
    expect(repairs).toEqual([{ type: 'log_repaired', cut_bytes: cut }]);
    expect(await verifyLog(folder)).toMatchObject({ records: 5, flaws: [] });
    expect(JSON.parse(lines()[3] ?? '')).toMatchObject({ type: 'log_repaired', cut_bytes: cut });
  });

  it('leaves a lock that the next one takes away', async () => {
    await write(1);
    const holder = await writer('hold');
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await write(1);
    expect(await verifyLog(folder)).toMatchObject({ records: 2, flaws: [] });
    expect(readdirSync(folder).filter((name) => name.startsWith('lock'))).toEqual([]);
  });

  it('is noticed when it takes records along that were noted', async () => {
    await write(5);
    truncateSync(
      join(folder, 'audit-000000000001.jsonl'),
      Buffer.byteLength(`${lines().slice(0, 3).join('\n')}\n`),
    );
    const repairs: Repair[] = [];
    await write(1, { onRepair: (repair) => repairs.push(repair) });
    expect(repairs).toMatchObject([{ cut_bytes: 0, missing: { after: 3, noted: { seq: 5 } } }]);
  });

  it('harms nothing, however often, while others write', async () => {
    const written: number[] = [];
    for (let round = 0; round < 3; round++) {
      const writers = await Promise.all([writer('endless'), writer('endless'), writer('endless')]);
      await write(20);
      for (const one of writers) one.kill('SIGKILL');
      await Promise.all(writers.map((one) => once(one, 'exit')));
      await write(1);
      const verdict = await verifyLog(folder);
      expect(verdict.flaws).toEqual([]);
      written.push(verdict.records);
    }
    expect(written.every((count, i) => count > (written[i - 1] ?? 20))).toBe(true);
  }, 60_000);
});

it('refuses a record that is too long, by its bytes, and writes what came with it', async () => {
  const log = new AuditLog({ folder });
  const tooLong = 'ä'.repeat(MAX_LINE_BYTES / 2);
  const outcomes = await Promise.allSettled([
    log.append({ type: 'test', i: 0 }),
    log.append({ type: 'test', text: tooLong }),
    log.append({ type: 'test', text: 1n }),
    log.append({ type: 'test', text: tooLong.slice(200) }),
  ]);
  expect(outcomes).toMatchObject([
    { status: 'fulfilled', value: { seq: 1 } },
    {
      status: 'rejected',
      reason: { code: 'AUDIT_UNAVAILABLE', message: expect.stringMatching(/is too long/) },
    },
    { status: 'rejected', reason: { code: 'AUDIT_UNAVAILABLE' } },
    { status: 'fulfilled', value: { seq: 2 } },
  ]);
  expect(lines().every((line) => Buffer.byteLength(line) <= MAX_LINE_BYTES)).toBe(true);
  expect(await verifyLog(folder)).toMatchObject({ records: 2, flaws: [] });
});

describe('the names of its files', () => {
  /** The folders whose names the disk is waited for, while this is done. */
  async function syncedWhile(action: () => Promise<unknown>): Promise<string[]> {
    const synced: string[] = [];
    const real = fs.fsyncSync;
    fs.fsyncSync = (descriptor) => {
      synced.push(readlinkSync(`/proc/self/fd/${descriptor}`));
      real(descriptor);
    };
    syncBuiltinESMExports();
    try {
      await action();
    } finally {
      fs.fsyncSync = real;
      syncBuiltinESMExports();
    }
    return synced;
  }

  it('are on the disk before a record in them is', async () => {
    const fresh = join(folder, 'a', 'b');
    const log = new AuditLog({ folder: fresh, fsync: 'always', maxFileBytes: 1000 });
    const first = await syncedWhile(() => log.append({ type: 'test' }));
    expect(first).toEqual([join(folder, 'a'), folder, fresh]);
    expect(await syncedWhile(() => log.append({ type: 'test', text: 'x'.repeat(1000) }))).toEqual([]);
    expect(await syncedWhile(() => log.append({ type: 'test' }))).toEqual([fresh]);
    expect(logFiles(fresh)).toHaveLength(2);
  });

  it('are not waited for where nobody asked for it', async () => {
    const log = new AuditLog({ folder: join(folder, 'a'), fsync: 'never' });
    expect(await syncedWhile(() => log.append({ type: 'test' }))).toEqual([]);
  });
});

it('writes nothing, and says so, where it cannot', async () => {
  await write(2);
  const path = join(folder, 'audit-000000000001.jsonl');
  const changed = readFileSync(path, 'utf8').replace('"i":1', '"i":9');
  writeFileSync(path, changed);
  await expect(write(1)).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  expect(readFileSync(path, 'utf8')).toBe(changed);
  const file = join(folder, 'file');
  writeFileSync(file, '');
  await expect(new AuditLog({ folder: join(file, 'below') }).append({ type: 'test' })).rejects.toThrow(
    /cannot be written/,
  );
});

/** Another process that writes until it is ended, or that has the lock and keeps it. */
async function writer(what: 'endless' | 'hold'): Promise<ChildProcess> {
  const endless = `
    const log = new AuditLog({ folder: process.argv[1] });
    for (let i = 0; ; i++) {
      await Promise.all([log.append({ type: 'other', i }), log.append({ type: 'other', text: 'x'.repeat(3000) })]);
      if (i === 0) console.log('writes');
    }`;
  const hold = `
    const lock = new FolderLock(process.argv[1], { what: 'The audit log', code: 'AUDIT_UNAVAILABLE' });
    lock.hold(() => { require('node:fs').writeSync(1, 'holds\\n'); for (;;); });`;
  const url = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
  const code = `
    import { createRequire } from 'node:module';
    import { AuditLog } from ${url('./auditLog.ts')};
    import { FolderLock } from ${url('../../files/folderLock.ts')};
    const require = createRequire(import.meta.url);
    ${{ endless, hold }[what]}`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}
