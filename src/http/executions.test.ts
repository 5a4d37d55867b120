import { describe, expect, it } from 'vitest';
import { SandboxError } from '../errors.ts';
import { Admission } from './admission.ts';
import { type Bounds, type Ended, Executions, type Running } from './executions.ts';
import type { Caller } from './keys.ts';

const ENDED: Ended = {
  json: '{"ok":true}',
  summary: { outcome: 'exited', language: 'python', durationSec: 1, cpuSec: 1 },
};

const one: Caller = { id: 'one', name: 'one', scopes: ['execute'], quotas: {} };
const other: Caller = { ...one, id: 'other' };

function registry(bounds: Partial<Bounds> = {}, onChanged: () => void = () => {}) {
  let now = Date.parse('2026-11-22T00:00:00Z');
  const executions = new Executions({
    admission: new Admission({ running: 1, queue: 100 }),
    bounds: { logBytes: 1000, totalBytes: 100_000, count: 100, ageMs: 60_000, ...bounds },
    now: () => now,
    within: (_asking, run) => run(),
    onChanged,
  });
  const start = (run: (running: Running) => Promise<Ended> = async () => ENDED, caller = one) =>
    executions.start({ caller, sandboxId: null, language: null, run });
  return { executions, start, pass: (ms: number) => (now += ms) };
}

describe('the executions of a server', () => {
  it('are known to their owner alone, with what came of them', async () => {
    const { executions, start } = registry();
    const begun = start(async ({ executionId, onOutput }) => {
      await onOutput({ stream: 'stdout', text: 'hi', bytes: Buffer.from('hi') });
      return { ...ENDED, json: JSON.stringify({ executionId }) };
    });
    await begun.settled;
    expect(executions.find('one', begun.id)).toMatchObject({
      ...{ id: begun.id, owner: 'one', state: 'ended', json: JSON.stringify({ executionId: begun.id }) },
    });
    expect(begun.log.page().text).toBe('hi');
    const answers = [() => executions.find('other', begun.id), () => executions.find('one', 'nothing')].map(
      (find) => {
        try {
          return find();
        } catch (error) {
          return (error as { status: number }).status;
        }
      },
    );
    expect(answers).toEqual([404, 404]);
  });

  it('tell of what they show as soon as they do', async () => {
    const seen: string[] = [];
    const { executions, start } = registry({}, () => {
      seen.push(executions.all.map(({ state, log }) => `${state} ${log.richResults}`).join());
    });
    const showing = async ({ onRich }: Running): Promise<Ended> => {
      onRich('{}');
      return ENDED;
    };
    await start(showing).settled;
    expect(seen).toEqual(['waiting ', 'running ', 'running {}', 'ended {}']);
  });

  it('that fail keep their error', async () => {
    const { start } = registry();
    const error = new Error('broken');
    const begun = start(() => Promise.reject(error));
    await begun.settled;
    expect([begun.state, begun.error, begun.json]).toEqual(['failed', error, undefined]);
  });

  it('that fail with much to tell count as those that end with it', async () => {
    const { executions, start } = registry({ totalBytes: 10_000 });
    const long = new SandboxError('INPUT_INVALID', 'x'.repeat(3000), { hint: '' });
    for (let count = 0; count < 5; count++) await start(() => Promise.reject(long)).settled;
    expect(executions.all.length).toBe(1);
    for (let count = 0; count < 5; count++) await start().settled;
    expect(executions.all.length).toBe(6);
  });

  it('that are cancelled before their turn run with their signal, and take nobody’s place', async () => {
    const { start } = registry();
    let finish = (): void => {};
    const first = start(async () => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return ENDED;
    });
    const seen: boolean[] = [];
    const second = start(async ({ signal }) => {
      seen.push(signal.aborted);
      return ENDED;
    });
    expect(second.state).toBe('waiting');
    second.cancel();
    await second.settled;
    expect([seen, second.state, first.state]).toEqual([[true], 'ended', 'running']);
    finish();
    await first.settled;
  });

  it('are forgotten when they are old, or many, and never while they run', async () => {
    const { executions, start, pass } = registry({ count: 2 });
    const running = executions.start({
      ...{ caller: one, sandboxId: null, language: null, place: 'beside' },
      run: ({ signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve(ENDED), { once: true })),
    });
    const ended = [start(), start(), start()];
    await Promise.all(ended.map(({ settled }) => settled));
    expect(executions.list('one').map(({ id }) => id)).toEqual([running.id, ended[1]?.id, ended[2]?.id]);
    pass(60_001);
    await start().settled;
    expect(executions.list('one')).toHaveLength(2);
    running.cancel();
    await running.settled;
  });

  it('of whoever keeps the most are forgotten first', async () => {
    const { executions, start } = registry({ totalBytes: 20_000 });
    const small = start(undefined, other);
    await small.settled;
    for (let i = 0; i < 20; i++) await start(async () => ({ ...ENDED, json: 'x'.repeat(1000) })).settled;
    expect(executions.find('other', small.id)).toBe(small);
    expect(executions.list('one').length).toBeLessThan(11);
  });
});
