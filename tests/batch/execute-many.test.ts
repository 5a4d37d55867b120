/** Many programs at a time, each in namespaces of its own. */
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type BatchEntry, type BatchProgram, executeMany, getSandbox } from '../../src/index.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { processesWith } from '../support/traces.ts';

beforeEach(() => {
  vi.stubEnv('SANDBOX_PYTHON', '/usr/bin/python3');
  vi.stubEnv('SANDBOX_STORE_CODE', 'never');
});
afterEach(() => vi.unstubAllEnvs());

/** Programs that say that they are there and wait for a line, and who of them is there. */
function waiting(count: number, nonce: string) {
  const inputs = new Map<number, PassThrough>();
  let most = 0;
  let arrived = (): void => {};
  const programs = Array.from({ length: count }, (_, number): BatchProgram => {
    const stdin = new PassThrough();
    return {
      ...{ id: `${number}`, args: [nonce], stdin, timeout: 50 },
      code: 'print("ready", flush=True)\nprint(input())',
      onOutput({ text }) {
        if (!text.startsWith('ready')) return;
        inputs.set(number, stdin);
        most = Math.max(most, inputs.size);
        arrived();
      },
    };
  });
  return {
    programs,
    most: () => most,
    /** Resolves once so many wait, and lets the first of them go. */
    async letOneGoOf(wanted: number): Promise<number> {
      while (inputs.size < wanted) {
        await new Promise<void>((resolve) => {
          arrived = resolve;
        });
      }
      const [[number, stdin] = [-1, undefined]] = inputs;
      inputs.delete(number);
      stdin?.end(`go ${number}\n`);
      return number;
    },
  };
}

describeWith(['bubblewrap'], 'executeMany', () => {
  it('has three of them run at a time, and never four', async () => {
    const nonce = `nonce-${crypto.randomUUID()}`;
    const { programs, most, letOneGoOf } = waiting(7, nonce);
    const entries: BatchEntry[] = [];
    await using sandbox = getSandbox({ runtime: 'bubblewrap', warm: true });
    const done = executeMany(programs, {
      ...{ sandbox, concurrency: 3 },
      onResult: (entry) => void entries.push(entry),
    });
    const order: number[] = [];
    for (const wanted of [3, 3, 3, 3, 3, 2, 1]) order.push(await letOneGoOf(wanted));
    expect(await done).toMatchObject({ programs: 7, ok: 7, errors: 0 });
    expect(most()).toBe(3);
    // What one prints came from its own input, whoever else ran beside it.
    const outputs = Object.fromEntries(entries.map(({ id, result }) => [id, result?.stdout]));
    expect(outputs).toEqual(Object.fromEntries(order.map((number) => [number, `ready\ngo ${number}\n`])));
    expect(entries).toHaveLength(7);
    expect(processesWith(nonce)).toEqual([]);
  });

  it('cancels those that run when it is told to, and begins no other', async () => {
    const nonce = `nonce-${crypto.randomUUID()}`;
    const { programs, letOneGoOf } = waiting(5, nonce);
    const stop = new AbortController();
    const entries: BatchEntry[] = [];
    const done = executeMany(programs, {
      ...{ sandbox: getSandbox({ runtime: 'bubblewrap' }), concurrency: 2, signal: stop.signal },
      onResult: (entry) => void entries.push(entry),
    });
    await letOneGoOf(2);
    await letOneGoOf(2);
    expect(processesWith(nonce)).not.toEqual([]);
    stop.abort();
    const { programs: told, cancelled } = await done;
    expect({ told, cancelled }).toEqual({ told: entries.length, cancelled: true });
    expect(entries.length).toBeLessThan(5);
    expect(processesWith(nonce)).toEqual([]);
  });
});
