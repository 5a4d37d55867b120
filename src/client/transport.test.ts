import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isSandboxError } from '../errors.ts';
import { serverOf } from './address.ts';
import { Transport } from './transport.ts';

const KEY = 'gbx_secret-key';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly key: unknown;
  readonly idempotencyKey: unknown;
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

let server: Server;
let asked: Asked[];
/** One after the other; the last one again and again. */
let answers: Answer[];
let transport: Transport;

beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request;
    asked.push({ method, path, key: headers.authorization, idempotencyKey: headers['idempotency-key'] });
    (answers.length > 1 ? answers.shift() : answers[0])?.(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  transport = transportTo(`${address()}/base`);
});

afterEach(async () => {
  transport.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function address(): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function transportTo(url: string, { reconnectSec = 5, requestTimeoutSec = 5 } = {}): Transport {
  return new Transport(serverOf(url, KEY, false), { reconnectSec, requestTimeoutSec });
}

const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
const fine = json({ ok: true });
/** By a server that does a POST once, however often it comes. */
const knowing = json({ ok: true }, 200, { 'idempotency-key': 'any' });
const cut: Answer = (response) => response.destroy();

const schema = z.object({ ok: z.boolean() });
const get = () => transport.json({ path: 'sandboxes', query: { path: 'a b&c', no: undefined } }, schema);
const post = () => transport.json({ method: 'POST', path: 'sandboxes', json: {}, retry: true }, schema);

async function failure(work: () => Promise<unknown>): Promise<Record<string, unknown>> {
  try {
    return { resolved: await work() };
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(KEY);
    const { code, message, details } = error;
    return { code, message, details };
  }
}

it('never repeats the key, also where what stands in front of the server does', async () => {
  const repeating: Answer = (response, { headers }) => {
    const message = `You sent ${headers.authorization}.`;
    json({ error: { code: 'INPUT_INVALID', message, hint: message, details: { message } } }, 400)(
      response,
      {} as IncomingMessage,
    );
  };
  answers = [repeating];
  const message = 'You sent Bearer (the key).';
  expect(await failure(get)).toEqual({ code: 'INPUT_INVALID', message, details: { message } });
});

describe('a request', () => {
  it('goes below the address, with the key in its header alone', async () => {
    answers = [fine];
    expect(await get()).toEqual({ ok: true });
    expect(asked).toEqual([
      {
        method: 'GET',
        path: '/base/v1/sandboxes?path=a+b%26c',
        key: `Bearer ${KEY}`,
        idempotencyKey: undefined,
      },
    ]);
    expect(inspect(transport, { depth: 9, showHidden: true })).not.toContain(KEY);
  });

  it('is made again after a cut, by the same key where it changes something', async () => {
    answers = [fine, cut, knowing];
    await get();
    await get();
    answers = [cut, cut, knowing];
    await post();
    const keys = asked.slice(3).map(({ idempotencyKey }) => idempotencyKey);
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET', 'POST', 'POST', 'POST']);
    expect(new Set(keys)).toEqual(new Set([expect.stringMatching(/^[0-9a-f-]{36}$/)]));
  });

  it('has a key of its own each time that it is meant', async () => {
    answers = [fine];
    await post();
    await post();
    expect(new Set(asked.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
  });

  it('is made again when what stands in front of the server has lost it, and not when the server refuses it', async () => {
    answers = [json('<h1>bad gateway', 502), fine];
    expect(await get()).toEqual({ ok: true });
    answers = [json({ error: { code: 'RUNTIME_UNAVAILABLE', message: 'No.', hint: 'Wait.' } }, 503)];
    expect(await failure(get)).toMatchObject({ code: 'RUNTIME_UNAVAILABLE', message: 'No.' });
    expect(asked.length).toBe(3);
  });

  it('is not made again where it would do a thing twice', async () => {
    answers = [fine, cut];
    await get();
    // A server that has not said that it knows it again.
    expect(await failure(post)).toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    const body = { type: 'application/octet-stream', content: Buffer.from('x') };
    const put = () => transport.tell({ method: 'PUT', path: 'files', body });
    expect(await failure(put)).toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    expect(await failure(() => transport.tell({ method: 'DELETE', path: 'files' }))).toMatchObject({
      code: 'RUNTIME_UNAVAILABLE',
    });
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'POST', 'PUT', 'DELETE']);
  });

  it('is told at once that nobody answers, where nobody ever did', async () => {
    answers = [cut];
    expect(await failure(get)).toEqual({
      code: 'RUNTIME_UNAVAILABLE',
      message: `The server at ${new URL(address()).host} cannot be reached: the connection was cut.`,
      details: { host: new URL(address()).host },
    });
    expect(asked.length).toBe(1);
  });

  it('waits for a server that was there for as long as it shall', async () => {
    transport = transportTo(address(), { reconnectSec: 1 });
    answers = [fine, cut];
    await get();
    expect(await failure(get)).toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    expect(asked.length).toBeGreaterThan(2);
  });

  it('waits for an answer for as long as it shall', async () => {
    transport = transportTo(address(), { reconnectSec: 0.05, requestTimeoutSec: 0.2 });
    answers = [() => {}];
    expect(await failure(get)).toMatchObject({
      code: 'RUNTIME_UNAVAILABLE',
      message: expect.stringContaining('it did not answer in time'),
    });
    answers = [(response) => response.writeHead(200).write('{')];
    expect(await failure(get)).toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  });

  it('is broken off by its own signal, with its reason', async () => {
    const cancel = new AbortController();
    answers = [() => cancel.abort(new RangeError('mine'))];
    await expect(transport.json({ path: 'x', signal: cancel.signal }, schema)).rejects.toThrow(
      new RangeError('mine'),
    );
  });

  it('follows no redirect: nobody else is told the key', async () => {
    const others: unknown[] = [];
    const other = createServer((request, response) => {
      others.push(request.headers.authorization);
      response.end('{"ok":true}');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    for (const location of [`http://127.0.0.1:${port}/`, '/base/v1/elsewhere']) {
      answers = [json({}, 307, { location })];
      expect(await failure(get)).toMatchObject({
        code: 'SANDBOX_FAILED',
        message: 'The server answered with another address to ask.',
      });
    }
    other.closeAllConnections();
    await new Promise((resolve) => other.close(resolve));
    expect({ others, asked: asked.length }).toEqual({ others: [], asked: 2 });
  });
});

describe('an answer', () => {
  const error = { code: 'POLICY_DENIED', message: 'Not that.', hint: 'This.', details: { snake_case: 1 } };

  it('that is an error is that error', async () => {
    answers = [json({ error }, 403)];
    const thrown = await get().catch((one: unknown) => one);
    expect(isSandboxError(thrown) && thrown.toJSON()).toEqual({ error });
  });

  it.each([
    [401, 'UNAUTHENTICATED'],
    [403, 'FORBIDDEN'],
    [404, 'INPUT_INVALID'],
    [429, 'QUOTA_EXCEEDED'],
    [418, 'INPUT_INVALID'],
    [500, 'SANDBOX_FAILED'],
  ])(
    'with the status %d and a code of a later version is the nearest that there is',
    async (status, code) => {
      answers = [json({ error: { ...error, code: 'OF_LATER' } }, status)];
      expect(await failure(get)).toMatchObject({
        code,
        message: 'Not that.',
        details: { serverCode: 'OF_LATER' },
      });
      answers = [json('no json', status)];
      expect(await failure(get)).toMatchObject({ code, details: { status } });
    },
  );

  it('says when to ask again', async () => {
    answers = [json({ error: { ...error, code: 'QUOTA_EXCEEDED' } }, 429, { 'retry-after': '7' })];
    expect(await failure(get)).toMatchObject({ code: 'QUOTA_EXCEEDED', details: { retryAfterSec: 7 } });
  });

  it.each([
    [
      'no JSON',
      '<h1>hello</h1>',
      "The server's answer to GET /v1/sandboxes is not understood: it is no JSON.",
    ],
    ['of another form', { ok: 1 }, "The server's answer to GET /v1/sandboxes is not understood: ok: "],
  ])('that is %s is not believed', async (_, answer, message) => {
    answers = [json(answer)];
    expect(await failure(get)).toMatchObject({
      code: 'SANDBOX_FAILED',
      message: expect.stringContaining(message),
    });
  });
});

it('asks nothing once it is closed', async () => {
  answers = [fine];
  await get();
  const going = transport.json({ path: 'slow' }, schema);
  transport.close();
  expect(await failure(() => going)).toMatchObject({ code: 'SANDBOX_CLOSED' });
  expect(await failure(get)).toMatchObject({ code: 'SANDBOX_CLOSED' });
});
