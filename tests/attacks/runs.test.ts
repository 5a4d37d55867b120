/** What one run leaves for the next, where sandboxes are kept ready: made before it, beside it and after it. */
import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { getSandbox, type PooledSandbox } from '../../src/operations/getSandbox.ts';
import type { ExecuteOptions } from '../../src/operations/options.ts';
import type { ExecutionResult } from '../../src/result/result.ts';
import { describeMissing } from '../support/targets.ts';
import { WARM_TARGETS } from '../support/warmTargets.ts';
import { answer, PRELUDE, program, scratch, sharesTheKernel } from './support.ts';

const FINDS = `${PRELUDE}\n${program('leaves-and-finds.py')}\n${program('finds-what-was-left.py')}`;
const LEAVES = `${PRELUDE}\n${program('leaves-and-finds.py')}\n${program('leaves-itself.py')}`;
const STAYS = `print('ready', flush=True)\nsys.stdin.read()`;

/** In the language of the program, by the same tools of the system. */
const SEARCH =
  'grep -lrsE "$WANTED" /workspace /tmp /dev/shm /proc/[0-9]*/environ /proc/[0-9]*/cmdline; true';
const LEAVE_FILES = 'for folder in /workspace /tmp /dev/shm; do echo "$SECRET" >$folder/left; done';
const inJavascript = (script: string): string =>
  `import { execFileSync } from 'node:child_process';
process.env.LEFT = process.env.SECRET ?? '';
process.stdout.write(execFileSync('/bin/sh', ['-c', ${JSON.stringify(script)}]));`;

interface Found {
  readonly found: readonly string[];
  readonly changed: Readonly<Record<string, unknown>>;
}

/** A secret, and a pattern of it that is not itself the secret. */
function makeSecret(): { readonly secret: string; readonly pattern: string } {
  const secret = `left-${randomUUID()}`;
  return { secret, pattern: `l[e]${secret.slice(2)}` };
}

describe.each(WARM_TARGETS)('one run after another: $name', (target) => {
  const { pooled, waiting } = target;

  /** Every execution of it finds a guest that waits. */
  function keepReady(language: keyof typeof waiting): {
    readonly sandbox: PooledSandbox;
    ready(): Promise<void>;
    run(code: string, options?: ExecuteOptions): Promise<ExecutionResult>;
  } {
    const sandbox = getSandbox({ runtime: pooled, cwd: scratch, warm: { min: 3 } });
    const options = { language, timeout: 40, maxOutputKb: 1024 } as const;
    const expected = waiting[language];
    return {
      sandbox,
      ready: async () => expect(await sandbox.warmUp(options)).toEqual({ warmedBy: expected }),
      run: async (code, more) => {
        const result = await sandbox.execute(code, { ...options, ...more });
        expect(result.meta.warm, result.stderr).toEqual(expected);
        return result;
      },
    };
  }

  it('12. nothing that a program leaves is found by one that was made before it, beside it or after it', async () => {
    const { secret, pattern } = makeSecret();
    const { sandbox, ready, run } = keepReady('python');
    await using _ = sandbox;
    const find = async (): Promise<Found> =>
      answer<Found>(await run(FINDS, { env: { WANTED: pattern }, args: ['an argument'] }));
    await ready();
    const unchanged = await find();
    expect(unchanged.found).toEqual([]);
    await ready();
    const stdin = new PassThrough();
    const besides: Promise<Found>[] = [];
    let seen = '';
    const left = await run(`${LEAVES}\n${program('finds-what-was-left.py')}\n${STAYS}`, {
      ...{ env: { SECRET: secret, WANTED: pattern }, args: [secret], stdin },
      onOutput({ text }) {
        seen += text;
        if (besides.length > 0 || !/^ready$/m.test(seen)) return;
        // Two of those that waited already.
        besides.push(find(), find());
        void Promise.allSettled(besides).then(() => stdin.end(secret));
      },
    });
    // Control: it did leave all of it, and the same search finds it there.
    const own = JSON.parse(left.stdout.split('\n')[0] ?? '') as Found;
    const everywhere = [
      '/tmp/left',
      '/dev/shm/left',
      '/workspace/left',
      'shm',
      'sem',
      'msg',
      'abstract',
      'port',
    ];
    const ofTheKernel = ['memory', 'descriptor', '/proc environ', '/proc cmdline'];
    expect(own.found).toEqual(
      expect.arrayContaining([...everywhere, ...(sharesTheKernel(target) ? ofTheKernel : [])]),
    );
    expect(own.changed).not.toEqual(unchanged.changed);
    expect(besides.length).toBe(2);
    for (const beside of besides) expect(await beside).toEqual(unchanged);
    for (let later = 0; later < 4; later++) {
      await ready();
      expect(await find()).toEqual(unchanged);
    }
  });

  it.each((['javascript', 'shell'] as const).filter((language) => waiting[language] !== undefined))(
    '12. nothing that a program in %s leaves is found by the next one',
    async (language) => {
      const { secret, pattern } = makeSecret();
      const { sandbox, ready, run } = keepReady(language);
      await using _ = sandbox;
      const code = (script: string): string => (language === 'shell' ? script : inJavascript(script));
      await ready();
      const env = { SECRET: secret, WANTED: pattern };
      const own = await run(code(`${LEAVE_FILES}; ${SEARCH}`), { env, args: [secret], stdin: secret });
      // Control: it finds what it leaves.
      expect(own.stdout.split('\n')).toEqual(
        expect.arrayContaining(['/workspace/left', '/tmp/left', '/dev/shm/left']),
      );
      for (let later = 0; later < 3; later++) {
        await ready();
        expect((await run(code(SEARCH), { env: { WANTED: pattern } })).stdout).toBe('');
      }
    },
  );
});

describeMissing('one run after another');
