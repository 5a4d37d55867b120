import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { SandboxError } from '../../errors.ts';
import type { ExecutionResult, Outcome } from '../../result/result.ts';
import type { ExecuteOptions } from '../options.ts';
import type { BatchEntry, BatchProgram } from './batch.ts';
import { executeMany } from './executeMany.ts';

const NONE = { exited: 0, timed_out: 0, killed: 0, out_of_memory: 0, cancelled: 0, blocked: 0, denied: 0 };

function resultOf(outcome: Outcome, exitCode: number): ExecutionResult {
  return { outcome, exitCode, ok: exitCode === 0, stdout: '', stderr: '' } as ExecutionResult;
}

/** Programs that wait until they are let go or cancelled, and what runs of them. */
function gate() {
  const running = new Map<string, (result: ExecutionResult) => void>();
  const seen = { most: 0 };
  let changed = (): void => {};
  return {
    seen,
    running,
    async holds(names: string): Promise<void> {
      while ([...running.keys()].sort().join('') !== names) {
        await new Promise<void>((resolve) => {
          changed = resolve;
        });
      }
    },
    sandbox: {
      async execute(code: string | Uint8Array, { signal }: ExecuteOptions = {}): Promise<ExecutionResult> {
        const name = String(code);
        const ended = new Promise<ExecutionResult>((resolve) => {
          running.set(name, resolve);
          signal?.addEventListener('abort', () => resolve(resultOf('cancelled', 1)));
        });
        seen.most = Math.max(seen.most, running.size);
        changed();
        const result = await ended;
        running.delete(name);
        changed();
        return result;
      },
    },
  };
}

/** Runs each at once: the code says how it ends. */
const atOnce = {
  async execute(code: string | Uint8Array): Promise<ExecutionResult> {
    const [outcome = '', exitCode = '0'] = String(code).split(' ');
    if (outcome === 'throws') throw new SandboxError(exitCode as 'INPUT_INVALID', 'No.', { hint: 'None.' });
    if (outcome === 'bug') throw new TypeError('x is undefined');
    return resultOf(outcome as Outcome, Number(exitCode));
  },
};

const programs = (codes: readonly string[]): BatchProgram[] => codes.map((code) => ({ code }));

function told(entries: BatchEntry[]) {
  return { onResult: (entry: BatchEntry) => void entries.push(entry) };
}

describe('many programs', () => {
  it('are counted by how they end, and those that cannot be run are entries like the others', async () => {
    const entries: BatchEntry[] = [];
    const codes = ['exited 0', 'exited 7', 'timed_out -1', 'throws INPUT_INVALID', 'bug', 'killed 137'];
    const given = [...programs(codes), { id: 'named', code: 'exited 0' }, null as unknown as BatchProgram];
    const { duration, ...summary } = await executeMany(given, {
      ...{ sandbox: atOnce, concurrency: 1, ...told(entries) },
    });
    expect(duration).toBeGreaterThanOrEqual(0);
    expect(summary).toEqual({
      ...{ programs: 8, ok: 2, errors: 3, cancelled: false },
      outcomes: { ...NONE, exited: 3, timed_out: 1, killed: 1 },
    });
    expect(entries.map(({ id, index, program }) => [id, index, program === given[index]])).toEqual(
      ['0', '1', '2', '3', '4', '5', 'named', '7'].map((id, index) => [id, index, true]),
    );
    expect(entries.map(({ result, error }) => result?.exitCode ?? error?.code)).toEqual([
      ...[0, 7, -1, 'INPUT_INVALID', 'SANDBOX_FAILED', 137, 0, 'INPUT_INVALID'],
    ]);
  });

  it('run as many at a time as they may, and are told in the order in which they end', async () => {
    const held = gate();
    const entries: BatchEntry[] = [];
    const done = executeMany(programs(['a', 'b', 'c', 'd']), {
      ...{ sandbox: held.sandbox, concurrency: 3, ...told(entries) },
    });
    for (const [running, ends] of [
      ['abc', 'b'],
      ['acd', 'c'],
      ['ad', 'a'],
      ['d', 'd'],
    ] as const) {
      await held.holds(running);
      held.running.get(ends)?.(resultOf('exited', 0));
    }
    expect(await done).toMatchObject({ programs: 4, ok: 4 });
    expect(held.seen.most).toBe(3);
    expect(entries.map(({ program }) => program.code)).toEqual(['b', 'c', 'a', 'd']);
  });

  it('are read only as there is room for them, and not while nobody takes the results', async () => {
    let read = 0;
    let release = (): void => {};
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* endless(): AsyncGenerator<BatchProgram> {
      for (;;) yield { code: `exited ${read++}` };
    }
    const stop = new AbortController();
    const busy = new AbortController();
    const done = executeMany(endless(), {
      ...{ sandbox: atOnce, concurrency: 4, signal: stop.signal },
      async onResult() {
        busy.abort();
        await slow;
      },
    });
    await once(busy.signal, 'abort');
    await new Promise(setImmediate);
    expect(read).toBe(4);
    stop.abort();
    release();
    expect(await done).toMatchObject({ programs: 4, cancelled: true });
    expect(read).toBe(4);
  });

  it('are told one at a time', async () => {
    let inside = 0;
    let most = 0;
    await executeMany(programs(Array.from({ length: 20 }, () => 'exited 0')), {
      ...{ sandbox: atOnce, concurrency: 8 },
      async onResult() {
        most = Math.max(most, ++inside);
        await new Promise(setImmediate);
        inside--;
      },
    });
    expect(most).toBe(1);
  });

  it('are cancelled and told when the signal says so, even where the source never answers', async () => {
    const held = gate();
    const entries: BatchEntry[] = [];
    const stop = new AbortController();
    async function* two(): AsyncGenerator<BatchProgram> {
      yield* programs(['a', 'b']);
      await new Promise(() => {});
    }
    const done = executeMany(two(), {
      ...{ sandbox: held.sandbox, concurrency: 3, signal: stop.signal, ...told(entries) },
    });
    await held.holds('ab');
    stop.abort();
    expect(await done).toMatchObject({ programs: 2, cancelled: true, outcomes: { ...NONE, cancelled: 2 } });
    expect(entries.map(({ id }) => id)).toEqual(['0', '1']);
    const none = executeMany(programs(['a']), { sandbox: held.sandbox, signal: stop.signal });
    expect(await none).toMatchObject({ programs: 0, cancelled: true });
  });

  it('end with what onResult throws: what runs is cancelled, and nothing more is told', async () => {
    const held = gate();
    const entries: BatchEntry[] = [];
    const done = executeMany(programs(['a', 'b', 'c']), {
      ...{ sandbox: held.sandbox, concurrency: 2 },
      onResult(entry) {
        entries.push(entry);
        throw new Error('the disk is full');
      },
    });
    await held.holds('ab');
    held.running.get('a')?.(resultOf('exited', 0));
    await expect(done).rejects.toThrow('the disk is full');
    expect(entries.map(({ id }) => id)).toEqual(['0']);
    expect(held.running.size).toBe(0);
  });

  it('end with what the source throws, or what no program is to blame for, once what runs is told', async () => {
    const entries: BatchEntry[] = [];
    function* failing(): Generator<BatchProgram> {
      yield { code: 'exited 0' };
      throw new Error('line 2 is torn');
    }
    await expect(executeMany(failing(), { sandbox: atOnce, ...told(entries) })).rejects.toThrow('line 2');
    expect(entries).toHaveLength(1);
    const unavailable = executeMany(programs(['throws RUNTIME_UNAVAILABLE', 'exited 0', 'exited 0']), {
      ...{ sandbox: atOnce, concurrency: 1, ...told(entries) },
    });
    await expect(unavailable).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    expect(entries).toHaveLength(1);
  });

  it('refuse options that cannot be meant', async () => {
    const refused = expect.objectContaining({ code: 'INPUT_INVALID' });
    await expect(executeMany([], { concurrency: 0 })).rejects.toEqual(refused);
    await expect(executeMany('print(1)' as unknown as BatchProgram[])).rejects.toEqual(refused);
    expect(await executeMany([])).toMatchObject({ programs: 0, cancelled: false });
  });
});
