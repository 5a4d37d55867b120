/** A hundred megabytes into a live sandbox and out again, byte for byte, on each runtime that is here. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, describe, expect, it } from 'vitest';
import { createSandbox } from '../../src/index.ts';
import { describeMissing, TARGETS } from '../support/targets.ts';

const scratch = mkdtempSync(join(tmpdir(), 'transfer-test-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const source = join(scratch, 'source');
mkdirSync(join(source, 'many'), { recursive: true });
writeFileSync(join(source, 'large'), randomBytes(90_000_000));
for (let number = 0; number < 100; number++) {
  writeFileSync(join(source, 'many', `${number}`), randomBytes(100_000));
}

function hashesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((found) =>
    found.isFile(),
  );
  return Object.fromEntries(
    names
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [
        path.slice(folder.length + 1),
        createHash('sha256').update(readFileSync(path)).digest('hex'),
      ])
      .sort(),
  );
}

const wanted = hashesIn(source);

describe.each(TARGETS)('100 MB: $name', ({ name, runtime }) => {
  it('come back as they went in, with word of how far they are, while others have their turn', async () => {
    await using sandbox = await createSandbox({ runtime, cwd: scratch });
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const up: number[] = [];
    const down: number[] = [];
    const carried = await sandbox.uploadFrom(source, 'there', {
      onProgress: ({ bytes, totalBytes }) => up.push(bytes / (totalBytes ?? 0)),
    });
    expect(carried).toEqual({ files: 101, folders: 1, bytes: 100_000_000, skipped: [] });
    const { stdout } = await sandbox.execute('sha256sum there/large', { language: 'shell' });
    expect(stdout.split(' ')[0]).toBe(wanted['large']);
    const back = join(scratch, name.replaceAll(' ', '-'));
    await sandbox.downloadTo('there', back, { onProgress: ({ bytes }) => down.push(bytes) });
    delay.disable();
    expect(hashesIn(back)).toEqual(wanted);
    for (const told of [up, down]) expect(told).toEqual([...told].sort((a, b) => a - b));
    expect([up.at(-1), down.at(-1)]).toEqual([1, 100_000_000]);
    // Half of all looks found nobody in the way, on a machine that does other things too.
    expect(delay.percentile(50) / 1e6).toBeLessThan(50);
  }, 180_000);
});

describeMissing('100 MB');
