import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeptOutput } from './keptOutput.ts';
import type { StreamName } from './outputPage.ts';

const KB = 1024;
let temporary: string;
let previous: string | undefined;
let kept: KeptOutput;

beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), 'kept-test-'));
  previous = process.env['TMPDIR'];
  process.env['TMPDIR'] = temporary;
});
afterEach(() => {
  kept.close();
  if (previous === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = previous;
  rmSync(temporary, { recursive: true, force: true });
});

function readAll(id: string, stream: StreamName, offset = 0): Buffer {
  const parts: Uint8Array[] = [];
  for (let at = offset; ; ) {
    const page = kept.page(id, { stream, offset: at, limit: 5000 });
    if (page.bytes.length === 0) return Buffer.concat(parts);
    parts.push(page.bytes);
    at = page.nextOffset;
  }
}

describe('kept output', () => {
  it('has every byte of both streams of every execution, as long as it fits', () => {
    kept = new KeptOutput(1024 * KB);
    const written = new Map<string, Buffer[]>();
    for (let n = 0; n < 20; n++) {
      const record = kept.open(`e${n}`);
      for (const stream of ['stdout', 'stderr', 'stdout', 'stderr'] as const) {
        // A page of what still runs holds a character back that may go on; these are whole.
        const bytes = randomBytes((n * 997) % 12_000).map((byte) => byte & 0x7f) as Buffer;
        record.push(stream, bytes);
        const key = `e${n} ${stream}`;
        written.set(key, [...(written.get(key) ?? []), bytes]);
      }
      if (n % 2 === 0) record.end();
    }
    for (const [key, parts] of written) {
      const [id = '', stream] = key.split(' ');
      expect(readAll(id, stream as StreamName).equals(Buffer.concat(parts))).toBe(true);
    }
  });

  it('keeps the newest, to the size that it has, and counts what it dropped', () => {
    kept = new KeptOutput(100 * KB);
    const old = kept.open('old');
    old.push('stdout', Buffer.alloc(10 * KB, 'o'));
    old.end();
    const flood = kept.open('flood');
    const parts: Buffer[] = [];
    for (let n = 0; n < 40; n++) {
      parts.push(randomBytes(9999));
      flood.push('stdout', parts.at(-1) ?? Buffer.alloc(0));
      if (n % 7 === 0) flood.push('stderr', Buffer.from('e'));
    }
    flood.end();
    expect(kept.page('old')).toMatchObject({
      text: '',
      totalBytes: 10 * KB,
      droppedBytes: 10 * KB,
      ended: true,
    });
    const { droppedBytes, totalBytes } = kept.page('flood');
    const all = Buffer.concat(parts);
    expect(totalBytes).toBe(all.length);
    expect(totalBytes - droppedBytes).toBeGreaterThan(99 * KB);
    expect(totalBytes - droppedBytes).toBeLessThanOrEqual(100 * KB);
    // Bytes that continue no character are skipped at a cut, so the first page begins up to three later.
    const rest = readAll('flood', 'stdout');
    expect(rest.length).toBeGreaterThanOrEqual(totalBytes - droppedBytes - 3);
    expect(rest.equals(all.subarray(all.length - rest.length))).toBe(true);
  });

  it('takes one chunk that is larger than all it may keep', () => {
    kept = new KeptOutput(100 * KB);
    const record = kept.open('e');
    const bytes = Buffer.alloc(450 * KB, 'abcdefg');
    record.push('stdout', Buffer.from('before'));
    record.push('stdout', bytes);
    record.push('stdout', Buffer.from('behind'));
    record.end();
    const whole = Buffer.concat([Buffer.from('before'), bytes, Buffer.from('behind')]);
    expect(kept.page('e')).toMatchObject({ totalBytes: whole.length, droppedBytes: whole.length - 100 * KB });
    expect(readAll('e', 'stdout').equals(whole.subarray(-100 * KB))).toBe(true);
  });

  it('forgets the oldest of very many executions, and stays small', () => {
    kept = new KeptOutput(1024 * KB);
    for (let n = 0; n < 3000; n++) {
      const record = kept.open(`e${n}`);
      record.push('stdout', Buffer.from(`out ${n}`));
      record.end();
    }
    expect(() => kept.page('e0')).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
    expect(kept.page('e2999').text).toBe('out 2999');
    expect(kept.page('e2500').text).toBe('out 2500');
  });

  it('is followed while it is written, and taken up again where a reader stopped', async () => {
    kept = new KeptOutput(1024 * KB);
    const record = kept.open('e');
    const told: string[] = [];
    const reading = (async () => {
      for await (const page of kept.follow('e')) told.push(page.text);
    })();
    record.push('stdout', Buffer.from('a€'.slice(0, 1)));
    await new Promise(setImmediate);
    record.push('stdout', Buffer.from('€').subarray(0, 2));
    await new Promise(setImmediate);
    record.push('stdout', Buffer.from('€').subarray(2));
    await new Promise(setImmediate);
    expect(told).toEqual(['a', '€']);
    record.push('stdout', Buffer.from('b'));
    record.end();
    await reading;
    expect(told).toEqual(['a', '€', 'b']);
    const later: string[] = [];
    for await (const page of kept.follow('e', { offset: 4 })) later.push(page.text);
    expect(later).toEqual(['b']);
  });

  it('ends those who follow when it is closed', async () => {
    kept = new KeptOutput(1024 * KB);
    kept.open('e');
    const reading = kept.follow('e').next();
    kept.close();
    await expect(reading).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('has no name on any disk, and gives its file back', () => {
    kept = new KeptOutput(100 * KB);
    const record = kept.open('e');
    record.push('stdout', Buffer.alloc(50 * KB));
    expect(readdirSync(temporary)).toEqual([]);
    const ours = () =>
      readdirSync('/proc/self/fd')
        .flatMap((name) => {
          try {
            return [readlinkSync(`/proc/self/fd/${name}`)];
          } catch {
            // The one that lists the folder.
            return [];
          }
        })
        .filter((path) => path.startsWith(temporary));
    expect(ours()).toHaveLength(1);
    kept.close();
    expect(ours()).toEqual([]);
    record.push('stdout', Buffer.alloc(50 * KB));
    record.end();
  });

  it('goes on where the disk takes nothing, and says that nothing is kept', () => {
    process.env['TMPDIR'] = join(temporary, 'missing');
    kept = new KeptOutput(100 * KB);
    const record = kept.open('e');
    record.push('stdout', Buffer.alloc(50 * KB));
    record.push('stdout', Buffer.from('in memory'));
    expect(kept.page('e')).toMatchObject({ text: 'in memory', droppedBytes: 50 * KB });
    record.end();
    expect(kept.page('e')).toMatchObject({ text: '', droppedBytes: 50 * KB + 9, totalBytes: 50 * KB + 9 });
  });
});
