import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuditLog } from '../audit/log/auditLog.ts';
import { fileName } from '../audit/log/files.ts';
import { sealLine } from '../audit/log/line.ts';
import { AuditTrail } from './auditTrail.ts';

let home: string;
let folder: string;
let configFile: string;

const keys = generateKeyPairSync('ed25519');
const privateKey = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const publicKey = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString();

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'audit-trail-test-'));
  folder = join(home, 'log');
  configFile = join(home, 'glovebox.yaml');
  writeFileSync(configFile, `security:\n  sandbox:\n    audit_dir: ${folder}\n`);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const write = async (count: number) => {
  const log = new AuditLog({ folder });
  for (let i = 0; i < count; i++) await log.append({ type: 'test', i });
};

/** What is wrong, compared with what was signed. */
const flaws = async (envelope: unknown) => {
  const trail = await AuditTrail.open({ configFile });
  const { flaws } = await trail.verify({ envelope, publicKey });
  return flaws.map(({ kind, seq }) => ({ kind, seq }));
};

const sign = async () => (await AuditTrail.open({ configFile })).signHead(privateKey);

/** Leaves only the records from this one on, in a file that is named after it. */
function keepFrom(seq: number): void {
  const lines = readFileSync(join(folder, fileName(1)), 'utf8').split('\n');
  writeFileSync(join(folder, fileName(seq)), lines.slice(seq - 1).join('\n'));
  rmSync(join(folder, fileName(1)));
}

describe('a log, compared with its signed end', () => {
  it('is the one that was signed when it went on from there', async () => {
    await write(5);
    const head = await sign();
    await write(2);
    expect(await flaws(head)).toEqual([]);
  });

  it('is another one when its records begin behind the signed one and do not follow it', async () => {
    await write(5);
    const head = await sign();
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    const forged = sealLine({ seq: 5, hash: 'f'.repeat(64) }, new Date().toISOString(), '"type":"test"');
    writeFileSync(join(folder, fileName(6)), `${forged.line}\n`);
    writeFileSync(join(folder, 'head.json'), JSON.stringify(forged.place));
    expect(await flaws(head)).toEqual([{ kind: 'replaced', seq: 5 }]);
  });

  it('is known by the first record that is left, where that follows the signed one', async () => {
    await write(5);
    const head = await sign();
    await write(3);
    keepFrom(6);
    expect(await flaws(head)).toEqual([]);
  });

  it('cannot be told from another one when what followed the signed record is gone', async () => {
    await write(5);
    const head = await sign();
    await write(3);
    keepFrom(7);
    expect(await flaws(head)).toEqual([{ kind: 'replaced', seq: 5 }]);
    renameSync(join(folder, fileName(7)), join(home, fileName(7)));
    expect(await flaws(head)).toContainEqual({ kind: 'replaced', seq: 5 });
  });
});
