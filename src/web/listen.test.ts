import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../tests/support/eventually.ts';
import { SandboxError } from '../errors.ts';
import { type Fetch, type Listening, type ListenOptions, listen } from './listen.ts';
import { isLoopback } from './loopback.ts';

const hello: Fetch = () => new Response('hello');

async function start(options: Partial<ListenOptions> = {}, fetch = hello): Promise<Listening> {
  const server = await listen(fetch, { host: '127.0.0.1', port: 0, ...options });
  onTestFinished(() => server.close({ graceSec: 0 }));
  return server;
}

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A connection that has sent this, and goes on to stand there. */
function open({ port }: Listening, sent = ''): Socket {
  const socket = connect({ host: '127.0.0.1', port }).on('error', () => {});
  sockets.push(socket);
  socket.write(sent);
  return socket;
}

const GET = 'GET / HTTP/1.1\r\nHost: localhost\r\n';

/** A request that is answered when it is told to. */
function heldRequest(): { fetch: Fetch; arrived: Promise<void>; answer: () => void } {
  let arrive = (): void => {};
  let answer = (): void => {};
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const fetch: Fetch = async () => {
    arrive();
    await answered;
    return new Response('late');
  };
  return { fetch, arrived, answer: () => answer() };
}

describe('where a server listens', () => {
  it('is told with the port that it got', async () => {
    const { url, port } = await start();
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect(await (await fetch(url)).text()).toBe('hello');
  });

  it.each(['0.0.0.0', '::', '', '192.0.2.1', 'box.example.org'])(
    'is not beyond this machine by default: %j',
    async (host) => {
      await expect(listen(hello, { host, port: 0 })).rejects.toMatchObject({
        code: 'POLICY_DENIED',
        hint: expect.stringMatching(/glovebox keys create.*--insecure-no-authentication/),
      });
    },
  );

  it('is beyond it where that is allowed', async () => {
    const { port } = await start({ host: '0.0.0.0', allowRemote: true });
    expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe('hello');
  });

  it('is one that can be had', async () => {
    const { port } = await start();
    await expect(listen(hello, { host: '127.0.0.1', port })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: `Nothing can listen on 127.0.0.1, port ${port}: something else listens there.`,
    });
    await expect(listen(hello, { host: '192.0.2.1', port: 0, allowRemote: true })).rejects.toBeInstanceOf(
      SandboxError,
    );
  });

  it('tells loopback addresses from all others', () => {
    const loopback = ['localhost', 'LOCALHOST', '127.0.0.1', '127.9.9.9', '::1', '[::1]', '::ffff:127.0.0.1'];
    const others = [
      '',
      '0.0.0.0',
      '::',
      '10.0.0.1',
      '128.0.0.1',
      '::ffff:10.0.0.1',
      '127.1',
      'localhost.evil.example',
    ];
    expect(loopback.filter((host) => !isLoopback(host))).toEqual([]);
    expect(others.filter(isLoopback)).toEqual([]);
  });
});

describe('a server that many connections are open to', () => {
  it('answers others while hundreds send nothing, a part of their headers, or hold on to what they had', async () => {
    const server = await start({
      limits: { maxConnections: 50, headersSec: 600, requestSec: 600, idleSec: 600 },
    });
    const slow = ['', 'G', GET, `${GET}\r\n`];
    const held = Array.from({ length: 300 }, (_, index) => open(server, slow[index % slow.length]));
    let ended = 0;
    for (const socket of held) socket.resume().once('close', () => ended++);
    await eventually('those that have been silent longest are ended', () => ended >= 250);
    expect(await (await fetch(server.url)).text()).toBe('hello');
    expect(ended).toBeLessThan(300);
  });

  it('keeps those that wait for an answer, and ends the new one where there is no other', async () => {
    const { fetch: held, arrived, answer } = heldRequest();
    const server = await start({ limits: { maxConnections: 1 } }, held);
    const first = fetch(server.url, { headers: { connection: 'close' } });
    await arrived;
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
    answer();
    expect(await (await first).text()).toBe('late');
    expect(await (await fetch(server.url)).text()).toBe('late');
  });

  it('ends by itself what does not send its request in time', async () => {
    const server = await start(
      { limits: { headersSec: 0.2, requestSec: 0.4 } },
      async (request) => new Response(await request.text()),
    );
    const body = `${GET.replace('GET', 'POST')}Content-Length: 9\r\n\r\n1234`;
    const answers = await Promise.all(['', GET, body].map((sent) => text(open(server, sent))));
    expect(answers).toEqual([TIMED_OUT, TIMED_OUT, TIMED_OUT]);
    expect(await (await fetch(server.url, { method: 'POST', body: 'hello' })).text()).toBe('hello');
  });
});

const TIMED_OUT = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n';

describe('what is no request', () => {
  it.each([
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['a missing Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['two lengths', `${GET}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400],
    ['a length and chunks', `${GET}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`, 400],
    ['a header with a NUL', `${GET}a: \0\r\n\r\n`, 400],
    ['endless headers', `${GET}a: ${'b'.repeat(20_000)}\r\n\r\n`, 431],
    ['a Host that is none', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n', 400],
    ['an address that is none', 'GET \\\\evil HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
  ])('is refused, and harms nobody: %s', async (_, sent, status) => {
    const server = await start();
    const socket = open(server, sent);
    socket.end();
    expect(await text(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(await (await fetch(server.url)).text()).toBe('hello');
  });

  it('has an answer in JSON where the app has not seen it, and a bug tells nothing of itself', async () => {
    const told: unknown[] = [];
    const bug = new Error('secret');
    const server = await start({ onUnexpected: (error) => told.push(error) }, () => {
      throw bug;
    });
    const unexpected = await fetch(server.url);
    expect(unexpected.status).toBe(500);
    expect(await unexpected.json()).toMatchObject({ error: { code: 'SANDBOX_FAILED', details: {} } });
    expect(told).toEqual([bug]);
    const socket = open(server, 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n');
    socket.end();
    expect(await text(socket)).toContain('"code":"INPUT_INVALID"');
    expect(told).toEqual([bug]);
  });
});

describe('a server that stops', () => {
  it('waits for what is being answered, and takes nothing else', async () => {
    const { fetch: held, arrived, answer } = heldRequest();
    const server = await start({}, held);
    const idle = text(open(server));
    const half = text(open(server, GET));
    const going = fetch(server.url);
    await arrived;
    const closed = server.close({ graceSec: 60 });
    expect(await Promise.all([idle, half])).toEqual(['', '']);
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
    answer();
    expect(await (await going).text()).toBe('late');
    await closed;
    expect(server.close({ graceSec: 60 })).toBeInstanceOf(Promise);
  });

  it('ends what is not answered in time', async () => {
    const { fetch: held, arrived } = heldRequest();
    const server = await start({}, held);
    const going = fetch(server.url);
    going.catch(() => {});
    await arrived;
    await server.close({ graceSec: 0.05 });
    await expect(going).rejects.toThrow('fetch failed');
  });
});
