import { Hono } from 'hono';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ConsoleBackend, ConsoleChange, OutputPiece } from './backend.ts';
import { type EventsRequest, eventsResponse } from './events.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Listening {
  /** What comes next, as it is sent. */
  readonly next: () => Promise<string | undefined>;
  readonly leave: () => Promise<void>;
  readonly change: (change: ConsoleChange) => void;
  readonly listeners: () => number;
}

async function listen(
  request: Partial<EventsRequest> = {},
  output: ConsoleBackend['output'] = async function* () {},
): Promise<Listening> {
  const listeners = new Set<(change: ConsoleChange) => void>();
  const backend = {
    output,
    watch: (listener: (change: ConsoleChange) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  } as Partial<ConsoleBackend> as ConsoleBackend;
  const app = new Hono();
  app.get('/', (context) => eventsResponse(context, backend, { isSignedIn: async () => true, ...request }));
  const reader = (await app.request('/')).body?.getReader();
  if (reader === undefined) throw new Error('There is no answer.');
  const next = async (): Promise<string | undefined> => {
    const { value } = await reader.read();
    return value === undefined ? undefined : Buffer.from(value).toString('utf8');
  };
  expect(await next()).toBe(': here\n\n');
  return {
    next,
    leave: () => reader.cancel(),
    change: (change) => {
      for (const listener of listeners) listener(change);
    },
    listeners: () => listeners.size,
  };
}

it('tells that something has changed, and many changes at a time as one', async () => {
  const { next, change } = await listen();
  change('sandboxes');
  change('questions');
  change('questions');
  expect(await next()).toBe('event: change\ndata: questions sandboxes\n\n');
  change('executions');
  expect(await next()).toBe('event: change\ndata: executions\n\n');
});

it('tells output as visible text with a place to go on from, and what is not kept any more', async () => {
  const pieces: OutputPiece[] = [
    { type: 'gap', stream: 'stdout', droppedBytes: 12, next: 3 },
    { type: 'output', stream: 'stderr', text: 'a\x1b[2J\r\nevent: change\n', next: 4 },
  ];
  const asked: unknown[] = [];
  const { next } = await listen(
    { output: { execution: 'e', after: 2 } },
    async function* (id, { after, follow }) {
      asked.push(id, after, follow);
      yield* pieces;
    },
  );
  expect(await next()).toBe('event: gap\ndata: {"stream":"stdout","dropped_bytes":12}\nid: 3\n\n');
  expect(await next()).toBe(
    'event: output\ndata: {"stream":"stderr","text":"a⟦U+001B⟧[2J⟦U+000D⟧\\nevent: change\\n"}\nid: 4\n\n',
  );
  expect(asked).toEqual(['e', 2, true]);
});

it('keeps the connection, and ends it with the session', async () => {
  let isIn = true;
  const { next, listeners } = await listen({ isSignedIn: async () => isIn });
  await vi.advanceTimersByTimeAsync(15_000);
  expect(await next()).toBe(': still here\n\n');
  isIn = false;
  await vi.advanceTimersByTimeAsync(15_000);
  expect(await next()).toBe('event: signed-out\ndata: \n\n');
  expect(await next()).toBeUndefined();
  expect(listeners()).toBe(0);
});

it('holds on to nothing when the page has gone', async () => {
  let signal: AbortSignal | undefined;
  const { leave, listeners } = await listen(
    { output: { execution: 'e', after: 0 } },
    async function* (_id, options) {
      signal = options.signal;
      await new Promise((resolve) => options.signal?.addEventListener('abort', resolve));
    },
  );
  await vi.advanceTimersByTimeAsync(0);
  expect([listeners(), signal?.aborted, vi.getTimerCount()]).toEqual([1, false, 1]);
  await leave();
  await vi.advanceTimersByTimeAsync(0);
  expect([listeners(), signal?.aborted, vi.getTimerCount()]).toEqual([0, true, 0]);
});
