import { describe, expect, it } from 'vitest';
import { bareProcess } from './bareProcess.ts';

const node = (code: string, options = {}): Promise<string> =>
  bareProcess(process.execPath, ['-e', code], options);

describe('a bare process', () => {
  it('resolves to all that it wrote, with our environment or the one that it is given', async () => {
    const code = 'process.stdout.write([process.env.HOME, process.env.ONLY].join())';
    expect(await node(code)).toBe(`${process.env['HOME']},`);
    expect(await node(code, { env: { ONLY: 'this' } })).toBe(',this');
  });

  it('is no success when it fails, and says what it said', async () => {
    await expect(node('console.error("no luck"); process.exitCode = 3')).rejects.toThrow(
      /ended with 3: no luck/,
    );
    await expect(bareProcess('/no/such/program', [])).rejects.toThrow('ENOENT');
  });

  it('is ended by a signal, and gone when that is told', async () => {
    const controller = new AbortController();
    const running = node('setInterval(() => {}, 1000)', { signal: controller.signal });
    controller.abort();
    await expect(running).rejects.toThrow('aborted');
  });
});
