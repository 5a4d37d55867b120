import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Relay } from '../runtimes/runtime.ts';
import { checkPort, connectThrough, directConnector, type Forwarding, forwardPort } from './ports.ts';

let inside: Server;
let port: number;
let forwarding: Forwarding | undefined;
let active = 0;
const using = (): (() => void) => {
  active++;
  return () => void active--;
};

/** As a relay does it, on this host's loopback. */
const relay: Pick<Relay, 'connect'> = {
  async connect(to) {
    const socket = connect({ host: '127.0.0.1', port: to, allowHalfOpen: true });
    await once(socket, 'connect');
    return socket;
  },
};

async function listen(onConnection: (socket: Socket) => void): Promise<void> {
  inside = createServer({ allowHalfOpen: true }, onConnection);
  inside.listen(0, '127.0.0.1');
  await once(inside, 'listening');
  port = (inside.address() as { port: number }).port;
}

async function outside(to: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: to, allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}

beforeEach(() => {
  active = 0;
});
afterEach(async () => {
  await forwarding?.close();
  forwarding = undefined;
  inside.close();
});

describe('a forwarded port', () => {
  it('carries both ways to their ends, also when one side has long stopped talking', async () => {
    // Answers only after everything has come.
    await listen((socket) => {
      let length = 0;
      socket.on('data', (chunk) => {
        length += chunk.length;
      });
      socket.once('end', () => socket.end(`${length} bytes, ${'x'.repeat(300_000)}`));
    });
    forwarding = await forwardPort(() => relay.connect(port), { using });
    expect(forwarding.host).toBe('127.0.0.1');
    const socket = await outside(forwarding.port);
    socket.end(Buffer.alloc(500_000));
    const answer = await text(socket);
    expect(answer.length).toBe('500000 bytes, '.length + 300_000);
    expect(answer.startsWith('500000 bytes, ')).toBe(true);
  });

  it('is what keeps a sandbox in use only while somebody is connected', async () => {
    await listen((socket) => socket.pipe(socket));
    forwarding = await forwardPort(() => relay.connect(port), { using });
    expect(active).toBe(0);
    const socket = await outside(forwarding.port);
    socket.write('echo');
    await once(socket, 'data');
    expect(active).toBe(1);
    socket.destroy();
    await forwarding.close();
    expect(active).toBe(0);
  });

  it('turns away whom nobody listens to inside', async () => {
    await listen(() => {});
    forwarding = await forwardPort(() => Promise.reject(new Error('nobody')), { using });
    const socket = connect({ host: '127.0.0.1', port: forwarding.port });
    const error = await new Promise((resolve) => socket.once('error', resolve));
    expect(error).toMatchObject({ code: 'ECONNRESET' });
  });

  it('ends the other side with one that breaks off', async () => {
    const connected = new Promise<Socket>((resolve) => void listen(resolve));
    await new Promise(setImmediate);
    forwarding = await forwardPort(() => relay.connect(port), { using });
    const socket = await outside(forwarding.port);
    const within = await connected;
    within.resetAndDestroy();
    await new Promise((resolve) =>
      socket
        .resume()
        .on('error', () => {})
        .once('close', resolve),
    );
  });

  it('ends its connections with it and listens no more', async () => {
    await listen((socket) => socket.on('error', () => {}).pipe(socket));
    forwarding = await forwardPort(() => relay.connect(port), { using });
    const socket = await outside(forwarding.port);
    socket.write('echo');
    await once(socket, 'data');
    const ended = new Promise((resolve) => socket.resume().on('error', resolve).once('end', resolve));
    await forwarding.close();
    await ended;
    socket.destroy();
    await expect(outside(forwarding.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await forwarding.close();
  });

  it('is refused where the port of the host is taken', async () => {
    await listen(() => {});
    const taken = forwardPort(() => relay.connect(port), { hostPort: port, using });
    await expect(taken).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});

describe('a way inside', () => {
  it('is the first of several that leads there', async () => {
    await listen((socket) => socket.end('here'));
    const nowhere = { connect: () => Promise.reject(new Error('nobody')) };
    expect(await text(await connectThrough([nowhere, relay], port))).toBe('here');
    await expect(connectThrough([nowhere], port)).rejects.toThrow('nobody');
    await expect(connectThrough([], port)).rejects.toMatchObject({ code: 'POLICY_NOT_ENFORCEABLE' });
  });

  it('is direct only on the network of this host', async () => {
    await listen((socket) => socket.destroy());
    const enforced = (network: 'none' | 'open', isolation: 'process' | 'container') =>
      ({ network, isolation }) as Parameters<typeof directConnector>[0];
    expect(directConnector(enforced('none', 'process'))).toBeUndefined();
    expect(directConnector(enforced('open', 'container'))).toBeUndefined();
    const direct = directConnector(enforced('open', 'process'));
    (await direct?.connect(port))?.destroy();
    await new Promise((resolve) => inside.close(resolve));
    await expect(direct?.connect(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it.each([0, -1, 65_536, 1.5, Number.NaN, '80', undefined])('is never %j', async (wrong) => {
    await listen(() => {});
    expect(() => checkPort(wrong)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });
});
