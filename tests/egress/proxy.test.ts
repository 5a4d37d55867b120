import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { NetworkDecision, Passing } from '../../src/egress/decision.ts';
import type { ProxyLimits } from '../../src/egress/limits.ts';
import { EgressProxy } from '../../src/egress/proxy.ts';
import { bypasses } from './bypasses.ts';
import { clientHello } from './clientHello.ts';
import { channelTo, closeServer, listen } from './world.ts';

/** What a test opened, closed after it in reverse order. */
const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

interface Host {
  readonly port: number;
  readonly sockets: Set<Socket>;
}

/** A host of which each test says what it does with a connection. */
async function startHost(onConnection: (socket: Socket) => void): Promise<Host> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    onConnection(socket);
  });
  const port = await listen(server);
  opened.push(async () => {
    for (const socket of sockets) socket.destroy();
    await closeServer(server);
  });
  return { port, sockets };
}

function startProxy(
  host: Host,
  limits: Partial<ProxyLimits> = {},
  allowedDomains = ['a.test', 'raw.test:9'],
): EgressProxy {
  const target = `127.0.0.1:${host.port}`;
  const proxy = new EgressProxy({
    rules: { allowedDomains, hostMap: { 'a.test': target, 'b.test': target, 'raw.test': target } },
    resolve: () => Promise.reject(new Error('Nobody should be asked.')),
    limits,
  });
  opened.push(() => proxy.close());
  return proxy;
}

/** Answers each request with the same bytes, and says what it was sent. */
function answering(answer: string, heard: string[] = []): (socket: Socket) => void {
  return (socket) => {
    socket.on('data', (chunk) => {
      heard.push(chunk.toString('latin1'));
      if (heard.join('').includes('\r\n\r\n')) socket.write(answer, 'latin1');
    });
    socket.on('end', () => socket.end());
  };
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const GET = 'GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n';
const GET_AND_CLOSE = 'GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n';

/** Sends a request and resolves to all that comes back, until the proxy ends it. */
async function ask(proxy: EgressProxy, request: string): Promise<string> {
  const stream = channelTo(proxy);
  stream.write(request, 'latin1');
  const answer = await text(stream);
  stream.end();
  return answer;
}

/** The next bytes that come. */
async function next(stream: Duplex): Promise<string> {
  const [chunk] = await once(stream, 'data');
  return chunk.toString('latin1');
}

async function openTunnel(proxy: EgressProxy, target = 'raw.test:9'): Promise<Duplex> {
  const stream = channelTo(proxy);
  stream.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  expect(await next(stream)).toBe('HTTP/1.1 200 Connection established\r\n\r\n');
  return stream;
}

const echo = (socket: Socket): void => {
  socket.pipe(socket);
};

describe('a request', () => {
  it('arrives with one canonical Host and nothing of its hop, and its answer comes back likewise', async () => {
    const heard: string[] = [];
    const answer =
      'HTTP/1.1 201 Whatever\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nConnection: X-Own\r\nX-Own: 1\r\nKeep-Alive: timeout=9\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nok';
    const proxy = startProxy(await startHost(answering(answer, heard)));
    const answered = await ask(
      proxy,
      'GET http://A.Test.:80/p?q HTTP/1.1\r\nhost: A.TEST\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic YTpi\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nTE: trailers\r\nKeep-Alive: 5\r\nAccept: */*\r\nX-Kept: \xe9\r\n\r\n',
    );
    expect(heard.join('')).toBe(
      'GET /p?q HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\nX-Kept: \xe9\r\nConnection: close\r\n\r\n',
    );
    expect(answered).toBe(
      'HTTP/1.1 201 Created\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok',
    );
  });

  it('is asked for its body only when it may be sent', async () => {
    const heard: string[] = [];
    const proxy = startProxy(await startHost(answering(OK, heard)));
    const head = (host: string): string =>
      `POST http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n`;
    const stream = channelTo(proxy);
    stream.write(head('a.test'));
    expect(await next(stream)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    stream.write('four');
    expect(await next(stream)).toContain('200 OK');
    expect(heard.join('')).toBe(
      'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfour',
    );
    stream.end();
    expect(await ask(proxy, head('evil.test'))).toMatch(/^HTTP\/1.1 403/);
  });

  it.each([
    [
      'with chunks',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    ['without a body', 'HTTP/1.1 204 No Content\r\n\r\n', '204 No Content'],
    ['after another status', `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}`, 'ok'],
  ])('gets its answer %s', async (_how, answer, part) => {
    const proxy = startProxy(await startHost(answering(answer)));
    expect(await ask(proxy, GET_AND_CLOSE)).toContain(part);
  });

  it.each([
    ['is not HTTP', 'SSH-2.0-x\r\n'],
    ['has two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok'],
    [
      'has a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['has an unknown encoding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok'],
    ['has two encodings', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    [
      'becomes something else',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n',
    ],
    ['has endless headers', `HTTP/1.1 200 OK\r\n${'X-Long: x\r\n'.repeat(20_000)}\r\n`],
  ])('gets 502 when the answer %s', async (_how, answer) => {
    const proxy = startProxy(await startHost(answering(answer)));
    expect(await ask(proxy, GET_AND_CLOSE)).toMatch(
      /^HTTP\/1.1 502 Host answered with something other than HTTP\r\n/,
    );
    expect(proxy.decisions.list).toMatchObject([{ allowed: true, code: 'bad_answer', host: 'a.test' }]);
  });

  it('gets 502 when nobody listens', async () => {
    const host = await startHost(echo);
    const proxy = startProxy({ ...host, port: 1 });
    expect(await ask(proxy, GET)).toMatch(/^HTTP\/1.1 502 Host not reachable\r\n/);
  });

  it('is not told that half an answer is a whole one', async () => {
    const proxy = startProxy(
      await startHost((socket) => {
        socket.once('data', () =>
          socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'),
        );
      }),
    );
    const stream = channelTo(proxy);
    stream.write(GET);
    let got = '';
    stream.on('data', (chunk) => {
      got += chunk;
    });
    await once(stream, 'close');
    expect(got).toContain('hello');
    expect(got).not.toContain('0\r\n\r\n');
    expect(stream.readableEnded).toBe(false);
  });

  it('that is given up is given up at the host too', async () => {
    let gone: Promise<unknown> = Promise.reject(new Error('No connection.'));
    gone.catch(() => {});
    const host = await startHost((socket) => {
      gone = once(socket, 'close');
      socket.resume();
      socket.on('end', () => socket.end());
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n');
    });
    const proxy = startProxy(host);
    const stream = channelTo(proxy);
    stream.write(GET);
    await once(stream, 'data');
    stream.destroy();
    await gone;
    expect(host.sockets.size).toBe(0);
  });
});

describe('a decision', () => {
  it('has the bytes that passed', async () => {
    const proxy = startProxy(await startHost(answering(OK)));
    await ask(proxy, GET_AND_CLOSE);
    const [decision] = proxy.decisions.list;
    expect(decision).toEqual({
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      host: 'a.test',
      port: 80,
      via: 'http',
      method: 'GET',
      allowed: true,
      address: '127.0.0.1',
      bytesUp: 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'.length,
      bytesDown: OK.length,
      durationSec: expect.any(Number),
    });
  });

  it('on a tunnel has those so far while it is open, and is told when it is closed', async () => {
    const proxy = startProxy(await startHost(echo));
    const stream = await openTunnel(proxy);
    stream.write('x'.repeat(1000));
    await next(stream);
    expect(proxy.decisions.list).toMatchObject([
      { via: 'connect', host: 'raw.test', port: 9, bytesUp: 1000, bytesDown: 1000 },
    ]);
    stream.end();
    await text(stream);
    expect(proxy.decisions.list).toMatchObject([{ bytesUp: 1000, bytesDown: 1000, allowed: true }]);
  });

  it('is kept up to a number, counted beyond, and always told', async () => {
    const told: string[] = [];
    const proxy = new EgressProxy({
      rules: { allowedDomains: [], hostMap: {} },
      onDecision: (decision) => told.push(`${decision.host} ${decision.code}`),
      limits: { decisions: 3 },
    });
    opened.push(() => proxy.close());
    for (let index = 0; index < 5; index += 1) {
      await ask(proxy, `CONNECT x${index}.test:443 HTTP/1.1\r\nHost: x${index}.test:443\r\n\r\n`);
    }
    expect(proxy.decisions.list.map(({ host }) => host)).toEqual(['x0.test', 'x1.test', 'x2.test']);
    expect(proxy.decisions.dropped).toBe(2);
    expect(told).toEqual([0, 1, 2, 3, 4].map((index) => `x${index}.test not_listed`));
  });
});

describe('whoever takes note of what may pass', () => {
  const CONNECT = 'CONNECT raw.test:9 HTTP/1.1\r\nHost: raw.test:9\r\n\r\n';

  /** What happened, in its order, and what was told in the end. */
  async function startNoted(note: () => Promise<void>) {
    const happened: string[] = [];
    const noted: Passing[] = [];
    const ended: [NetworkDecision, Passing | undefined][] = [];
    const host = await startHost((socket) => {
      happened.push('dialled');
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok');
    });
    const target = `127.0.0.1:${host.port}`;
    const proxy = new EgressProxy({
      rules: {
        allowedDomains: ['a.test', 'raw.test:9', 'gone.test'],
        hostMap: { 'a.test': target, 'raw.test': target },
      },
      resolve: () => {
        happened.push('looked up');
        return Promise.reject(new Error('Nobody knows it.'));
      },
      async onPassing(passing) {
        noted.push(passing);
        await note();
        happened.push('noted');
      },
      onDecision: (decision, passing) => ended.push([decision, passing]),
    });
    opened.push(() => proxy.close());
    return { proxy, happened, noted, ended };
  }

  const briefly = () => new Promise<void>((resolve) => setTimeout(resolve, 50));

  it.each([
    ['a request', GET_AND_CLOSE, 'a.test', 'dialled'],
    ['a tunnel', CONNECT, 'raw.test', 'dialled'],
    ['a name that nobody knows', GET_AND_CLOSE.replaceAll('a.test', 'gone.test'), 'gone.test', 'looked up'],
  ])('is waited for before %s goes on, and told of its end', async (_, request, name, then) => {
    const { proxy, happened, noted, ended } = await startNoted(briefly);
    await ask(proxy, request);
    await proxy.close();
    expect(happened).toEqual(['noted', then]);
    expect(ended).toMatchObject([[{ host: name, allowed: true }, { host: name }]]);
    expect(ended[0]?.[1]).toBe(noted[0]);
  });

  it.each([
    ['a request', GET_AND_CLOSE],
    ['a tunnel', CONNECT],
  ])('keeps %s from passing by failing', async (_, request) => {
    const { proxy, happened, ended } = await startNoted(() => Promise.reject(new Error('The disk is full.')));
    const answer = await ask(proxy, request);
    expect(answer).toMatch(/^HTTP\/1.1 503 Not recorded by Glovebox\r\n/);
    expect(answer).not.toContain('disk');
    expect(happened).toEqual([]);
    expect(ended).toMatchObject([[{ allowed: false, code: 'unrecorded' }, undefined]]);
  });

  it('is not asked about what may not pass', async () => {
    const { proxy, noted, ended } = await startNoted(briefly);
    await ask(proxy, GET_AND_CLOSE.replaceAll('a.test', 'evil.test'));
    expect(noted).toEqual([]);
    expect(ended).toMatchObject([[{ host: 'evil.test', allowed: false, code: 'not_listed' }, undefined]]);
  });
});

describe('new rules', () => {
  it('hold for the next request, also on a connection that is open', async () => {
    const proxy = startProxy(await startHost(answering(OK)));
    const stream = channelTo(proxy);
    stream.write(GET);
    expect(await next(stream)).toContain('200 OK');
    const raw = await openTunnel(proxy);
    proxy.setRules({ allowedDomains: ['b.test'], hostMap: {} });
    stream.write(GET);
    expect(await next(stream)).toContain('403 Domain not allowed by Glovebox');
    stream.end();
    // What is open stays.
    raw.write('still here\r\n\r\n');
    expect(await next(raw)).toBe(OK);
    raw.end();
  });

  it('that are not usable let nobody pass', async () => {
    const proxy = startProxy(await startHost(answering(OK)));
    expect(await ask(proxy, GET_AND_CLOSE)).toContain('200 OK');
    expect(() => proxy.setRules({ allowedDomains: ['a.test', '*'], hostMap: {} })).toThrow(
      'allow every domain',
    );
    expect(await ask(proxy, GET_AND_CLOSE)).toContain('403');
  });

  it('are refused at the beginning, too', () => {
    const rules = { allowedDomains: ['https://a.test'], hostMap: {} };
    expect(() => new EgressProxy({ rules })).toThrow('It has a scheme');
  });
});

describe('close', () => {
  it('ends tunnels, requests and connections on which nothing was said, and all are gone then', async () => {
    const host = await startHost((socket) => socket.write('hello'));
    const proxy = startProxy(host);
    const silent = channelTo(proxy);
    const tunnel = channelTo(proxy);
    tunnel.write('CONNECT raw.test:9 HTTP/1.1\r\n\r\n');
    const waiting = channelTo(proxy);
    waiting.write('GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTrailer: x\r\n');
    await once(tunnel, 'data');
    const closed = Promise.all([silent, tunnel, waiting].map((stream) => once(stream, 'close')));
    await proxy.close();
    await closed;
    expect(proxy.decisions.list).toMatchObject([{ host: 'raw.test', allowed: true }]);
    const late = channelTo(proxy);
    await once(late, 'close');
    await proxy.close();
  });

  it('ends what waits for a name server', async () => {
    let asked = (): void => {};
    const question = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const proxy = new EgressProxy({
      rules: { allowedDomains: ['a.test'], hostMap: {} },
      resolve: () => {
        asked();
        return new Promise(() => {});
      },
    });
    const stream = channelTo(proxy);
    stream.write(GET);
    await question;
    await proxy.close();
    await new Promise(setImmediate);
    expect(proxy.decisions.list).toMatchObject([{ host: 'a.test', code: 'abandoned', allowed: true }]);
  });
});

describe('limits', () => {
  it('bound the connections at one time', async () => {
    const proxy = startProxy(await startHost(echo), { connections: 2, lingerSec: 0.05 });
    const first = await openTunnel(proxy);
    await openTunnel(proxy);
    expect(await ask(proxy, GET)).toContain('503 Too many connections through Glovebox');
    first.destroy();
    await new Promise(setImmediate);
    await openTunnel(proxy);
  });

  it('do not tell a flood of connections why', async () => {
    const proxy = startProxy(await startHost(echo), { connections: 2 });
    const streams = Array.from({ length: 100 }, () => channelTo(proxy));
    const answers = await Promise.all(streams.slice(2).map((stream) => text(stream).catch(() => '')));
    expect(answers.filter((answer) => answer.includes('503'))).toHaveLength(6);
  });

  it.each([
    ['that says nothing', ''],
    ['whose request never ends', 'GET http://a.test/ HTTP/1.1\r\nHost: a'],
    ['of HTTP in a tunnel that says nothing', 'CONNECT a.test:80 HTTP/1.1\r\n\r\n'],
  ])('end a connection %s', async (_what, sent) => {
    const proxy = startProxy(await startHost(echo), { requestSec: 0.05 });
    const stream = channelTo(proxy);
    stream.write(sent);
    stream.resume();
    await once(stream, 'close');
  });

  it('end a connection whose request drips', async () => {
    const proxy = startProxy(await startHost(echo), { requestSec: 0.1 });
    const stream = channelTo(proxy);
    stream.write('GET http://a.test/ HTTP/1.1\r\nX: ');
    const drip = setInterval(() => stream.write('x'), 10);
    await once(stream, 'close');
    clearInterval(drip);
  });

  it('end a tunnel in which no whole hello comes', async () => {
    const proxy = startProxy(await startHost(echo), { helloSec: 0.05, lingerSec: 0.05 });
    const stream = await openTunnel(proxy, 'a.test:443');
    stream.write(clientHello({ names: ['a.test'] }).subarray(0, 50));
    expect(await text(stream)).toBe('\x15\x03\x03\x00\x02\x02\x31');
    await proxy.close();
    expect(proxy.decisions.list).toMatchObject([{ allowed: false, code: 'not_tls', bytesUp: 0 }]);
  });

  it('end a tunnel and a request in which nothing passes', async () => {
    const proxy = startProxy(await startHost((socket) => socket.resume()), {
      idleSec: 0.05,
      lingerSec: 0.05,
    });
    const stream = await openTunnel(proxy);
    stream.resume();
    await once(stream, 'close');
    expect(await ask(proxy, GET)).toContain('504 Host did not answer in time');
    expect(proxy.decisions.list).toMatchObject([{ code: 'timeout' }, { code: 'timeout' }]);
  });

  it('end any connection after its time', async () => {
    const proxy = startProxy(await startHost(echo), { totalSec: 0.2 });
    const stream = await openTunnel(proxy);
    const talk = setInterval(() => stream.write('x'), 20);
    stream.resume();
    await once(stream, 'close');
    clearInterval(talk);
  });

  it('end a connection that stays open after its answer', async () => {
    const proxy = startProxy(await startHost(echo), { lingerSec: 0.05 });
    const [inside, outside] = duplexPair();
    proxy.accept(outside);
    inside.write('GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n');
    inside.resume();
    await once(inside, 'end');
    await once(outside, 'close');
  });

  it('bound the requests that wait behind one another', async () => {
    const proxy = startProxy(await startHost((socket) => socket.resume()));
    const stream = channelTo(proxy);
    stream.write(GET.repeat(50));
    stream.resume();
    await once(stream, 'close');
    expect(proxy.decisions.list.length).toBeLessThanOrEqual(1);
  });
});

describe('one who does not read', () => {
  const MUCH = 64 * 1024 * 1024;

  it.each([
    ['in a tunnel', 'CONNECT raw.test:9 HTTP/1.1\r\n\r\n', ''],
    ['an answer', GET, `HTTP/1.1 200 OK\r\nContent-Length: ${MUCH}\r\n\r\n`],
  ])('holds up the host, %s', async (_what, request, head) => {
    let socketOfHost: Socket | undefined;
    const proxy = startProxy(
      await startHost((socket) => {
        socketOfHost = socket;
        const begin = (): void => {
          socket.write(head);
          socket.write(Buffer.alloc(MUCH));
        };
        if (head === '') begin();
        else socket.once('data', begin);
      }),
    );
    const stream = channelTo(proxy);
    stream.write(request);
    await settled(() => proxy.decisions.list[0]?.bytesDown ?? 0);
    // What is neither with the host's kernel nor with ours is in our memory.
    expect(proxy.decisions.list[0]?.bytesDown).toBeLessThan(1024 * 1024);
    expect(socketOfHost?.writableLength).toBeGreaterThan(MUCH / 2);
  });

  it('at the host holds up a tunnel and a request', async () => {
    for (const request of [
      'CONNECT raw.test:9 HTTP/1.1\r\n\r\n',
      `POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${MUCH}\r\n\r\n`,
    ]) {
      const proxy = startProxy(await startHost((socket) => socket.pause()));
      const stream = channelTo(proxy);
      stream.write(request);
      let taken = 0;
      const piece = Buffer.alloc(64 * 1024);
      const push = (): void => {
        while (taken < MUCH) {
          taken += piece.length;
          if (!stream.write(piece)) return;
        }
      };
      stream.on('drain', push);
      push();
      await settled(() => taken);
      // The kernel's buffers of a connection over loopback are some megabytes.
      expect(taken).toBeLessThan(MUCH / 2);
      stream.destroy();
    }
  });

  /** Waits until a number that is above zero has stayed the same for a while. */
  async function settled(read: () => number): Promise<void> {
    for (let last = -1, same = 0; same < 10; ) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      const now = read();
      same = now > 0 && now === last ? same + 1 : 0;
      last = now;
    }
  }
});

describe('whatever bytes come', () => {
  const samples = [
    ...bypasses(9).flatMap(({ send }) => send),
    GET,
    'CONNECT a.test:80 HTTP/1.1\r\n\r\n',
    'CONNECT a.test:443 HTTP/1.1\r\n\r\n',
    'CONNECT raw.test:9 HTTP/1.1\r\n\r\n',
    clientHello({ names: ['a.test'] }).toString('latin1'),
  ].map((sample) => Buffer.from(sample, 'latin1'));

  const random = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  const changed = fc
    .tuple(fc.constantFrom(...samples), fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 4 }))
    .map(([sample, changes]) => {
      const bytes = Buffer.from(sample);
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
      return bytes;
    });
  const cut = fc
    .tuple(fc.constantFrom(...samples), fc.nat(200))
    .map(([sample, end]) => sample.subarray(0, end));
  const pieces = fc.array(fc.oneof(random, changed, cut, fc.constantFrom(...samples)), {
    minLength: 1,
    maxLength: 5,
  });
  const endings = fc.constantFrom('end', 'destroy', 'wait');

  it('every connection ends, nothing throws, nobody is left, and no name is asked for that is not allowed', async () => {
    const host = await startHost((socket) => {
      socket.write(OK);
      socket.resume();
      socket.on('end', () => socket.end());
    });
    const asked: string[] = [];
    const proxy = new EgressProxy({
      rules: {
        allowedDomains: ['a.test', '*.b.test', 'raw.test:9'],
        hostMap: { 'a.test': `127.0.0.1:${host.port}` },
      },
      resolve: async (name) => {
        asked.push(name);
        return ['127.0.0.1'];
      },
      limits: {
        requestSec: 0.2,
        helloSec: 0.2,
        idleSec: 0.2,
        lingerSec: 0.05,
        connections: 10_000,
        decisions: 100_000,
      },
    });
    opened.push(() => proxy.close());
    const run = async (parts: readonly Buffer[], ending: string): Promise<void> => {
      const stream = channelTo(proxy);
      const closed = new Promise((resolve) => stream.once('close', resolve));
      stream.resume();
      stream.once('end', () => stream.end());
      for (const part of parts) {
        if (stream.writable) stream.write(part);
        await new Promise(setImmediate);
      }
      if (ending === 'end') stream.end();
      if (ending === 'destroy') stream.destroy();
      await closed;
    };
    const cases = fc.sample(fc.tuple(pieces, endings), 3000);
    for (let at = 0; at < cases.length; at += 500) {
      await Promise.all(cases.slice(at, at + 500).map(([parts, ending]) => run(parts, ending)));
    }
    await proxy.close();
    expect(asked.filter((name) => name !== 'raw.test' && !/^[a-z0-9.-]+\.b\.test$/.test(name))).toEqual([]);
    expect(proxy.decisions.list.filter(({ code }) => code === 'failed')).toEqual([]);
    expect(proxy.decisions.list.length).toBeGreaterThan(500);
  });
});
