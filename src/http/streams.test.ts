import { Hono } from 'hono';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { errorResponse } from '../web/errors.ts';
import type { Caller } from './keys.ts';
import type { ServerEnv } from './route.ts';
import { Streams } from './streams.ts';

const caller: Caller = { id: 'one', name: 'one', scopes: ['audit'], quotas: {} };

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** An app whose every answer goes on, one byte at each read, until nobody reads. */
function endless(most?: number) {
  const held = new Set([caller.id]);
  const ended: string[] = [];
  const keys = { authenticate: () => caller, find: (id: string) => (held.has(id) ? caller : undefined) };
  const streams = new Streams(keys, most);
  const app = new Hono<ServerEnv>();
  app.onError((error) => errorResponse(error));
  app.use(async (context, next) => {
    context.set('caller', caller);
    await next();
  });
  app.get('/:name', streams.follow(), ({ req }) => {
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => controller.enqueue(new Uint8Array(1)),
        cancel: () => void ended.push(req.param('name')),
      },
      { highWaterMark: 0 },
    );
    return new Response(body);
  });
  return { app, ended, revoke: () => held.clear() };
}

it('ends once the key holds no more, and tells nothing after that', async () => {
  const { app, ended, revoke } = endless();
  const reader = (await app.request('/one')).body?.getReader();
  vi.advanceTimersByTime(2000);
  expect(await reader?.read()).toEqual({ done: false, value: new Uint8Array(1) });
  revoke();
  vi.advanceTimersByTime(2000);
  expect(await reader?.read()).toEqual({ done: true, value: undefined });
  expect(ended).toEqual(['one']);
});

it('leaves connections for others: a key reads so many at a time, until one of them is read no more', async () => {
  const { app } = endless(2);
  const [first, second] = [await app.request('/first'), await app.request('/second')];
  expect((await app.request('/third')).status).toBe(429);
  await first.body?.cancel();
  expect([second.status, (await app.request('/third')).status]).toEqual([200, 200]);
});

it('is nothing that goes on where only the head is asked for', async () => {
  const { app, ended } = endless(1);
  expect((await app.request('/head', { method: 'HEAD' })).status).toBe(200);
  expect(ended).toEqual(['head']);
  expect((await app.request('/whole')).status).toBe(200);
});
