import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serverOf } from './address.ts';
import { followEvents } from './events.ts';
import { Transport } from './transport.ts';

/** What the server would say to somebody who is never cut off. */
const TOLD = Array.from({ length: 12 }, (_, index) => ({ index, text: `é\n${'x'.repeat(index)}` }));
const STREAM = TOLD.map(
  (data, id) => `: beat\n\nid: ${id}\nevent: output\ndata: ${JSON.stringify(data)}\n\n`,
);

let server: Server;
let transport: Transport;
/** How many bytes the answers at an address may have, one after the other; the last one again and again. */
let cuts: Map<string, number[]>;
let asked: string[];
/** A connection that is cut stays open, and says nothing. */
let silent: boolean;

beforeEach(async () => {
  [cuts, silent, asked] = [new Map(), false, []];
  server = createServer((request, response) => {
    const last = request.headers['last-event-id'] as string | undefined;
    const path = request.url?.replace('/v1/', '') ?? '';
    asked.push(path);
    const rest = Buffer.from(STREAM.slice(last === undefined ? 0 : Number(last) + 1).join(''));
    const own = cuts.get(path) ?? [];
    const sent = rest.subarray(0, (own.length > 1 ? own.shift() : own[0]) ?? rest.length);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(sent, () => {
      if (sent.length < rest.length && !silent) response.destroy();
      if (sent.length === rest.length) response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  transport = transportFor(30);
});

function transportFor(reconnectSec: number): Transport {
  const { port } = server.address() as AddressInfo;
  return new Transport(serverOf(`http://127.0.0.1:${port}`, 'key', false), {
    ...{ reconnectSec, requestTimeoutSec: 30 },
  });
}

afterEach(async () => {
  transport.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function hear(path: string, silenceMs?: number): Promise<unknown[]> {
  const heard: unknown[] = [];
  const question = { path, ...(silenceMs === undefined ? {} : { silenceMs }) };
  for await (const { type, data } of followEvents(transport, question)) {
    heard.push({ type, data });
    if (heard.length === TOLD.length) break;
  }
  return heard;
}

const ALL = TOLD.map((data) => ({ type: 'output', data }));
const LENGTH = Buffer.byteLength(STREAM.join(''));

it('waits for nothing behind the last event, though the connection is kept open', async () => {
  server.removeAllListeners('request');
  server.on('request', (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('event: result\ndata: {}\n\n');
  });
  const question = { path: 'open', last: ['result'], silenceMs: 3_600_000 };
  const heard: unknown[] = [];
  for await (const event of followEvents(transport, question)) {
    heard.push(event);
    break;
  }
  expect(heard).toEqual([{ type: 'result', data: {} }]);
});

describe('events', () => {
  it('come all, and once, wherever a connection is cut', async () => {
    const everywhere = Array.from({ length: Math.floor(LENGTH / 3) }, (_, index) => 3 * index);
    for (const at of everywhere) cuts.set(`x/${at}`, [at, LENGTH]);
    const heard = await Promise.all(everywhere.map((at) => hear(`x/${at}`)));
    expect(heard).toEqual(everywhere.map(() => ALL));
    expect(asked.length).toBe(2 * everywhere.length);
  });

  it('come all, and once, though it is cut over and over', async () => {
    cuts.set('x', [100]);
    expect(await hear('x')).toEqual(ALL);
    expect(asked.length).toBeGreaterThan(TOLD.length / 2);
  });

  it('are asked for again when nothing comes for too long', async () => {
    silent = true;
    cuts.set('x', [200, 300, LENGTH]);
    expect(await hear('x', 150)).toEqual(ALL);
    expect(asked.length).toBe(3);
  });

  it('are given up when the server comes back no more', async () => {
    transport = transportFor(0.5);
    cuts.set('x', [200, 0]);
    await expect(hear('x')).rejects.toMatchObject({
      code: 'RUNTIME_UNAVAILABLE',
      message: expect.stringContaining('did not come back within 0.5 s'),
    });
  });
});
