import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { serverOf } from './address.ts';
import { missedWarnings, runOn } from './execution.ts';
import { followPages } from './pages.ts';
import { Transport } from './transport.ts';

let server: Server;
let transport: Transport;
let asked: string[];
/** What the answers to those who ask for events hold, one after the other; each is cut at its end. */
let streams: string[];

beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    const what = `${request.method} ${request.url}`;
    asked.push(what);
    if (what.includes('/events')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end((streams.length > 1 ? streams.shift() : streams[0]) ?? '');
    } else {
      response.writeHead(request.method === 'POST' ? 202 : 204);
      response.end(request.method === 'POST' ? '{"execution_id":"e1"}' : undefined);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const options = { reconnectSec: 0.5, requestTimeoutSec: 5 };
  transport = new Transport(serverOf(`http://127.0.0.1:${port}`, 'key', false), options);
});

afterEach(async () => {
  transport.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function event(type: string, data: unknown): string {
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

const output = (offset: number, text: string, stream = 'stdout'): string =>
  event('output', { stream, offset, data_base64: Buffer.from(text).toString('base64') });
const result = event('result', 'done');

async function run(onOutput?: (text: string) => void) {
  const told: string[] = [];
  const tell = onOutput ?? ((text: string) => void told.push(text));
  const followed = await runOn(transport, {
    ...{ path: 'executions', json: {}, schema: z.literal('done') },
    onOutput: ({ stream, text }) => tell(`${stream}:${text}`),
  });
  return { ...followed, told };
}

const DELETED = 'DELETE /v1/executions/e1';

it('tells each byte once, though a server says all of it again after a cut', async () => {
  streams = [
    output(0, 'abc'),
    output(0, 'ab') + output(2, 'cde') + output(5, 'f') + output(0, 'E', 'stderr') + result,
  ];
  expect(await run()).toEqual({
    ...{ result: 'done', missed: { stdout: 0, stderr: 0 } },
    told: ['stdout:abc', 'stdout:de', 'stdout:f', 'stderr:E'],
  });
  expect(asked).not.toContain(DELETED);
});

it('says how much came too late to be told, where the server tells of it and where it does not', async () => {
  const gap = event('gap', { stream: 'stdout', dropped_bytes: 7 });
  streams = [output(0, 'a') + gap + output(8, 'b') + output(5, 'x', 'stderr') + result];
  const { told, missed } = await run();
  expect({ told, missed }).toEqual({
    told: ['stdout:a', 'stdout:b', 'stderr:x'],
    missed: { stdout: 7, stderr: 5 },
  });
  expect(missedWarnings(missed)).toEqual([
    expect.stringMatching(/^7 bytes of stdout and 5 bytes of stderr were not told/),
  ]);
  expect(missedWarnings({ stdout: 0, stderr: 0 })).toEqual([]);
});

it('makes whole characters of bytes that come in pieces, and of the rest what it can', async () => {
  const bytes = Buffer.from('é€');
  const piece = (offset: number, end: number): string =>
    event('output', {
      stream: 'stdout',
      offset,
      data_base64: bytes.subarray(offset, end).toString('base64'),
    });
  streams = [piece(0, 1) + piece(1, 4) + result];
  expect((await run()).told).toEqual(['stdout:', 'stdout:é', 'stdout:\ufffd']);
});

it('throws what the execution failed with', async () => {
  const error = { code: 'APPROVAL_DENIED', message: 'No.', hint: 'Ask.', details: { a_b: 1 } };
  streams = [event('error', { error })];
  await expect(run()).rejects.toMatchObject(error);
  expect(asked).not.toContain(DELETED);
});

it.each([
  ['output that is no base64', event('output', { stream: 'stdout', offset: 0, data_base64: 'é' })],
  ['a result that is none', event('result', 'other')],
  ['an event that is no JSON', 'event: output\ndata: {\n\n'],
  ['an error that says nothing', event('error', {})],
])('ends an execution there of which it does not understand %s', async (_, stream) => {
  streams = [stream];
  await expect(run()).rejects.toMatchObject({ code: 'SANDBOX_FAILED' });
  await expect.poll(() => asked).toContain(DELETED);
});

it('ends an execution there whose listener throws', async () => {
  streams = [output(0, 'a') + result];
  const mine = new RangeError('mine');
  await expect(
    run(() => {
      throw mine;
    }),
  ).rejects.toBe(mine);
  await expect.poll(() => asked).toContain(DELETED);
});

it('ends an execution there that it cannot hear of any more', async () => {
  streams = [output(0, 'a'), ''];
  await expect(run()).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  await expect.poll(() => asked).toContain(DELETED);
});

it('gives pages of one stream from any offset, and splits no character', async () => {
  streams = [output(0, 'aé') + output(0, 'other', 'stderr'), output(0, 'aéb') + output(4, 'cdefgh') + result];
  const pages = [];
  for await (const page of followPages(transport, 'e1', { offset: 1, limit: 4 })) {
    pages.push([page.offset, page.text, page.nextOffset]);
  }
  expect(pages).toEqual([
    [1, 'é', 3],
    [3, 'b', 4],
    [4, 'cdef', 8],
    [8, 'gh', 10],
  ]);
});
