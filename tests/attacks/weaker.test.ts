import { spawn } from 'node:child_process';
import { once as event } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LiveSandbox } from '../../src/operations/liveSandbox.ts';
import { AS_ROOT, HELD, open, PLAIN, probe, scratch } from './support.ts';

let plain: LiveSandbox;
beforeAll(async () => {
  plain = await open(PLAIN);
});
afterAll(() => plain.close());

describe('isolation without namespaces to hold it', () => {
  it('12. a plain process of another sandbox does not find what the first left in its folders', async () => {
    const first = await open(PLAIN);
    const leave = `
for folder in (os.environ['HOME'], os.environ['TMPDIR']): open(folder + '/left', 'w').write('left')
print(json.dumps([os.environ['HOME'], os.environ['TMPDIR']]))`;
    const folders = await probe<string[]>(first, leave);
    const look = `print(json.dumps([os.path.exists(folder + '/left') for folder in json.loads(os.environ['FOLDERS'])]))`;
    const env = { FOLDERS: JSON.stringify(folders) };
    expect(await probe(first, look, { env })).toEqual([true, true]);
    await first.close();
    await using second = await open(PLAIN);
    expect(await probe(second, look, { env })).toEqual([false, false]);
  });

  it('13. what a plain process does not hold is said and can be refused', async () => {
    expect(plain.enforced).toMatchObject({
      isolation: 'process',
      filesystem: 'host',
      network: 'open',
      seccomp: false,
    });
    const result = await plain.execute('print(1)');
    expect(result.meta.warnings?.join(' ')).toContain('not held');
    for (const options of [
      { minIsolation: 'namespace' },
      { requires: { filesystem: 'private' } },
      { requires: { seccomp: true } },
      { network: 'none' },
      { diskMb: 10 },
    ] as const) {
      await expect(open(PLAIN, options), JSON.stringify(options)).rejects.toMatchObject({
        code: 'POLICY_NOT_ENFORCEABLE',
      });
    }
  });

  it.skipIf(!AS_ROOT || HELD.length === 0)(
    '13. where namespaces cannot be made, nobody falls back in silence (as root only)',
    async () => {
      const script = join(scratch, 'no-namespaces.mts');
      const source = new URL('../../src/', import.meta.url).pathname;
      writeFileSync(
        script,
        `import { writeFileSync } from 'node:fs';
import { bubblewrap } from '${source}runtimes/bubblewrap/index.ts';
import { local } from '${source}runtimes/local/index.ts';
import { getSandbox } from '${source}operations/getSandbox.ts';
const said = [];
const ask = async () => {
  for (const runtime of [bubblewrap(), local({ isolation: 'namespace' }), local({ isolation: 'auto' })]) {
    said.push(await getSandbox({ runtime, cwd: '${scratch}' }).execute('print(1)', { language: 'python' }).then(
      ({ outcome, meta }) => ({ outcome, isolation: meta.enforced?.isolation, warned: (meta.warnings ?? []).length > 0 }),
      ({ code, hint }) => ({ code, hinted: hint !== '' })));
  }
};
await ask();
console.log(JSON.stringify(said));
`,
      );
      const run = async (before: string): Promise<unknown[]> => {
        const child = spawn(
          'unshare',
          [
            '--user',
            '--map-root-user',
            'sh',
            '-c',
            `${before}; exec "$@"`,
            'sh',
            process.execPath,
            '--import',
            'tsx',
            script,
          ],
          { stdio: ['ignore', 'pipe', 'inherit'], cwd: join(source, '..') },
        );
        let text = '';
        child.stdout.on('data', (chunk) => {
          text += String(chunk);
        });
        await event(child, 'close');
        return JSON.parse(text) as unknown[];
      };
      const refused = { code: 'RUNTIME_UNAVAILABLE', hinted: true };
      expect(
        await run('echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_mnt_namespaces'),
      ).toEqual([refused, refused, { outcome: 'exited', isolation: 'process', warned: true }]);
    },
  );
});
