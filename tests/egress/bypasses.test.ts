import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bypass, bypasses } from './bypasses.ts';
import { clientHello } from './clientHello.ts';
import { channelTo, startWorld, type World } from './world.ts';

/** How a connection gets to the proxy: tests have TCP, and sandboxes a stream that is no socket at all. */
const WAYS: Record<string, (world: World) => Duplex> = {
  'a socket': ({ port }) => connect({ host: '127.0.0.1', port, allowHalfOpen: true }),
  'a channel': ({ proxy }) => channelTo(proxy),
};

/** Sends all parts and resolves to all that was answered, when the proxy has ended the connection. */
function sendOver(stream: Duplex, parts: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const left = [...parts];
    let answered = '';
    const next = (): void => {
      const part = left.shift();
      if (part !== undefined) stream.write(part, 'latin1');
    };
    next();
    stream.on('data', (chunk) => {
      answered += chunk.toString('latin1');
      next();
    });
    stream.on('end', () => stream.end());
    stream.on('error', () => {});
    stream.on('close', () => resolve(answered));
  });
}

const WRONG = /evil|hidden/;

describe.each(Object.keys(WAYS))('over %s', (way) => {
  let world: World;
  beforeAll(async () => {
    // A connection on which nothing more comes is ended by the proxy, so that nothing here has to guess when all is over.
    world = await startWorld({ connections: 1000, requestSec: 2, helloSec: 2, idleSec: 2, lingerSec: 0.1 });
  });
  afterAll(() => world.close());
  const send = (parts: readonly string[]): Promise<string> =>
    sendOver(WAYS[way]?.(world) ?? expect.fail(way), parts);

  describe('bypasses', () => {
    let tried: { readonly bypass: Bypass; readonly answered: string }[];

    beforeAll(async () => {
      const all = bypasses(world.forbidden.port);
      tried = await Promise.all(all.map(async (bypass) => ({ bypass, answered: await send(bypass.send) })));
    });

    it('are more than 80, each of its own', () => {
      expect(tried.length).toBeGreaterThan(250);
      const sent = tried.map(({ bypass }) => bypass.send.join('|'));
      expect(sent.filter((text, index) => sent.indexOf(text) !== index)).toEqual([]);
    });

    it('reach nobody', () => {
      expect(world.forbidden.connections).toEqual([]);
      expect(world.asked).toEqual([]);
    });

    it('are not heard by the allowed host either', () => {
      const expected = tried.reduce((sum, { bypass }) => sum + (bypass.heard ?? 0), 0);
      const heard = world.allowed.connections
        .map(({ first }) => first.toString('latin1'))
        .filter((text) => text !== '');
      expect(heard.filter((text) => WRONG.test(text))).toEqual([]);
      expect(heard).toHaveLength(expected);
      expect(world.allowed.requests.every((request) => / a\.test \/(first)?$/.test(request))).toBe(true);
    });

    it('are refused with a status or cut, and never answered by a server', () => {
      const passed = tried.filter(({ bypass, answered }) => {
        const statuses = [...answered.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
        const good = statuses.filter((status) => status < 400).length;
        return good > (bypass.opens ? 1 : 0) + (bypass.heard ?? 0);
      });
      expect(passed).toEqual([]);
    });

    it('are all decided, none of them as allowed', () => {
      const allowed = world.finished.filter((decision) => decision.allowed);
      // What is allowed came before an attempt; a tunnel in which nothing was said passed nothing.
      expect(allowed.filter(({ bytesUp, host }) => bytesUp > 0 && host !== 'a.test')).toEqual([]);
      const attempts = tried.filter(({ bypass }) => !(bypass.heard ?? 0));
      const refused = world.finished.filter((decision) => !decision.allowed);
      expect(refused.length).toBeGreaterThanOrEqual(attempts.length);
      expect(refused.filter(({ reason, code }) => !reason?.startsWith('Glovebox: ') || !code)).toEqual([]);
    });
  });

  describe('what is allowed passes beside them', () => {
    const request = (line: string, host: string): string =>
      `${line} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

    it.each([
      ['a plain request', [request('GET http://a.test/ok', 'a.test')], 'GET a.test /ok 0'],
      ['its other spelling', [request('GET HTTP://A.Test.:80/ok', 'a.TEST')], 'GET a.test /ok 0'],
      ['a name below a star', [request('GET http://x.b.test/ok', 'x.b.test')], 'GET x.b.test /ok 0'],
      ['a listed port', [request('GET http://c.test:8080/ok', 'c.test:8080')], 'GET c.test:8080 /ok 0'],
      ['HTTP 1.0 without a Host', ['GET http://a.test/ok HTTP/1.0\r\n\r\n'], 'GET a.test /ok 0'],
      [
        'a request in a tunnel',
        [request('CONNECT a.test:80', 'a.test:80'), request('GET /ok', 'a.test')],
        'GET a.test /ok 0',
      ],
      [
        'two requests in a row',
        [
          'GET http://a.test/1 HTTP/1.1\r\nHost: a.test\r\n\r\n' +
            request('GET http://x.b.test/2', 'x.b.test'),
        ],
        'GET x.b.test /2 0',
      ],
    ])('%s', async (_what, parts, expected) => {
      expect(await send(parts)).toContain(expected);
    });

    it('a body in which there is a request', async () => {
      const body = request('GET http://evil.test/', 'evil.test');
      const head = `POST http://a.test/ok HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n\r\n`;
      expect(await send([head + body])).toContain(`POST a.test /ok ${body.length}`);
    });

    it.each([
      ['whole', 16_384],
      ['in records of one byte', 1],
    ])('a TLS hello with its name, %s', async (_how, recordBytes) => {
      const before = world.allowed.connections.length;
      const hello = clientHello({ names: ['A.test'], recordBytes });
      await send([request('CONNECT a.test:443', 'a.test'), hello.toString('latin1')]);
      expect(world.allowed.connections.slice(before).map(({ first }) => first[0])).toEqual([22]);
    });
  });
});
