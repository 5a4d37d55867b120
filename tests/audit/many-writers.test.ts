/** A long log, written by many at once: whole, and checked at a rate that is told beside that of reading it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Verdict, verifyLog } from '../../src/audit/log/verify.ts';

const WRITERS = 8;
const EACH = 12_500;

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'many-writers-test-'));
  const exits = Array.from({ length: WRITERS }, (_, writer) => once(writerProcess(writer), 'exit'));
  expect((await Promise.all(exits)).map(([code]) => code)).toEqual(Array(WRITERS).fill(0));
}, 180_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes its share, some at a time, as a server does. */
function writerProcess(writer: number) {
  const url = new URL('../../src/audit/log/auditLog.ts', import.meta.url).href;
  const code = `
    import { AuditLog } from ${JSON.stringify(url)};
    const log = new AuditLog({ folder: process.argv[1], fsync: 'never', maxFileBytes: 8 * 1024 * 1024 });
    for (let i = 0; i < ${EACH}; i += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, n) =>
        log.append({ type: 'test', writer: ${writer}, i: i + n, text: 'x'.repeat(100) })));
    }`;
  return spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code, folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

const files = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort();
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

/** Milliseconds, the least of three. */
async function time(action: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const begin = performance.now();
    await action();
    times.push(performance.now() - begin);
  }
  return Math.min(...times);
}

describe(`${WRITERS * EACH} records of ${WRITERS} processes`, () => {
  it('are all there, in one chain, and in the order of each writer', async () => {
    let verdict: Verdict | undefined;
    const verifying = await time(async () => {
      verdict = await verifyLog(folder);
    });
    const reading = await time(() => files().map((name) => readFileSync(join(folder, name)).length));
    const continued = files().length - 1;
    expect(verdict).toMatchObject({ records: WRITERS * EACH + continued, first: 1, flaws: [] });
    console.log(
      `Verified ${Math.round((WRITERS * EACH) / (verifying / 1000))} records/s, ${(verifying / reading).toFixed(1)} times as long as reading the files.`,
    );
    const next = new Map<number, number>();
    for (const line of files().flatMap((name) => read(name).trimEnd().split('\n'))) {
      const { type, writer, i } = JSON.parse(line);
      if (type !== 'test') continue;
      expect(i).toBe(next.get(writer) ?? 0);
      next.set(writer, i + 1);
    }
    expect([...next.values()]).toEqual(Array(WRITERS).fill(EACH));
  });

  const middle = 5000;
  it.each<[string, string, (lines: string[]) => string[]]>([
    [
      'an edit',
      'changed',
      (lines) => lines.with(middle, (lines[middle] ?? '').replace('"text":"x', '"text":"y')),
    ],
    ['a deletion', 'missing', (lines) => lines.toSpliced(middle, 1)],
    ['an insertion', 'inserted', (lines) => lines.toSpliced(middle + 1, 0, lines[middle] ?? '')],
    [
      'a swap',
      'missing',
      (lines) => lines.toSpliced(middle, 2, lines[middle + 1] ?? '', lines[middle] ?? ''),
    ],
    ['a forged record', 'changed', (lines) => lines.with(middle, lines[middle - 1] ?? '')],
  ])('tell %s in the middle at its record', async (_, kind, change) => {
    const name = files()[1] ?? '';
    const text = read(name);
    const lines = text.trimEnd().split('\n');
    const { seq } = JSON.parse(lines[middle] ?? '');
    writeFileSync(join(folder, name), `${change(lines).join('\n')}\n`);
    try {
      const { flaws } = await verifyLog(folder);
      expect(flaws.length).toBeGreaterThan(0);
      expect(flaws[0]).toMatchObject({ file: name });
      expect(flaws.map((flaw) => flaw.seq)).toContain(seq);
      if (kind !== 'changed') expect(flaws[0]?.kind).toBe(kind);
    } finally {
      writeFileSync(join(folder, name), text);
    }
  });

  it('tell a cut tail at the first record that is missing', async () => {
    const name = files().at(-1) ?? '';
    const text = read(name);
    const lines = text.trimEnd().split('\n');
    const { seq } = JSON.parse(lines.at(-3) ?? '');
    writeFileSync(join(folder, name), `${lines.slice(0, -3).join('\n')}\n`);
    try {
      expect((await verifyLog(folder)).flaws).toMatchObject([{ kind: 'cut', seq }]);
    } finally {
      writeFileSync(join(folder, name), text);
    }
  });
});
