import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt } from './support/build.ts';
import { useCommand } from './support/command.ts';

const glovebox = useCommand();

beforeAll(() => ensureBuilt());

const LINES = 'for number in range(100_000): print(f"{number:06d}".ljust(99, "."))';

describe('a flood of output', () => {
  it('is cut in the result, which keeps the first and the last line and the true count', async () => {
    const { status, stdout } = await glovebox.run(['run', '--json', '-c', LINES]);
    const result = JSON.parse(stdout);
    expect({ status, ...result }).toMatchObject({
      status: 0,
      exit_code: 0,
      truncated: true,
      outcome: 'exited',
      meta: { truncated: true, stdout_bytes: 10_000_000 },
    });
    const lines = result.stdout.split('\n');
    expect(lines.filter((line: string) => line === '... (output truncated)')).toHaveLength(1);
    expect([lines.at(0), lines.at(-2), lines.at(-1)]).toEqual([
      '000000'.padEnd(99, '.'),
      '099999'.padEnd(99, '.'),
      '',
    ]);
    expect(Buffer.byteLength(result.stdout)).toBeLessThanOrEqual(
      10 * 1024 + '... (output truncated)\n'.length,
    );
  });

  it('is passed on whole by the command, which has no limit of its own', async () => {
    const { bytes } = await glovebox.run(['run', '-c', LINES]);
    expect(bytes.length).toBe(10_000_000);
    expect(bytes.subarray(-100).toString()).toBe(`${'099999'.padEnd(99, '.')}\n`);
  });

  it('of 2 GB costs us less than 30 MB of memory', async () => {
    const total = 2 * 1024 ** 3;
    const script = fileURLToPath(new URL('./programs/flood.mjs', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script, String(total)], {
      cwd: glovebox.folder,
      timeout: 50_000,
    });
    const { before, peak, ...result } = JSON.parse(stdout);
    expect(result).toMatchObject({ outcome: 'exited', truncated: true, bytes: total });
    expect((peak - before) / 1024 ** 2).toBeLessThan(30);
  });
});
