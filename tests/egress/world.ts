import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import type { NetworkDecision } from '../../src/egress/decision.ts';
import type { ProxyLimits } from '../../src/egress/limits.ts';
import { EgressProxy } from '../../src/egress/proxy.ts';
import { ALLOWED, BYPASS_RULES, FORBIDDEN_NAMES } from './bypasses.ts';
import { type Certificates, makeCertificates } from './certificates.ts';

/** A server on loopback that counts everybody who so much as connects. */
export interface CountingServer {
  readonly port: number;
  /** Every connection, and what came on it first. */
  readonly connections: { first: Buffer }[];
  /** Every HTTP request that it understood, as `METHOD host path`. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** Serves plain HTTP and, with certificates, HTTPS on the same port: a mapping knows one port for a name. */
export async function serveBoth(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  certificates?: Certificates,
): Promise<CountingServer> {
  const requests: string[] = [];
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    requests.push(`${request.method} ${request.headers.host} ${request.url}`);
    handle(request, response);
  };
  const plain = createHttp(onRequest);
  const secure =
    certificates && createHttps({ key: certificates.key, cert: certificates.certificate }, onRequest);
  const connections: { first: Buffer }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const connection: { first: Buffer } = { first: Buffer.alloc(0) };
    connections.push(connection);
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    socket.once('data', (chunk: Buffer) => {
      connection.first = chunk;
      socket.pause();
      socket.unshift(chunk);
      if (chunk[0] === 22 && secure) {
        // It takes what is buffered by itself.
        secure.emit('connection', socket);
      } else {
        plain.emit('connection', socket);
        socket.resume();
      }
    });
  });
  const port = await listen(server);
  return {
    port,
    connections,
    requests,
    async close() {
      for (const socket of sockets) socket.destroy();
      await closeServer(server);
    },
  };
}

export async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

export async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await closed;
}

/** A proxy behind a TCP port of loopback, as clients of this machine can use it. */
export interface ListeningProxy {
  readonly proxy: EgressProxy;
  readonly port: number;
  /** The finished decisions, as the listener got them. */
  readonly finished: NetworkDecision[];
  close(): Promise<void>;
}

export async function listenWith(
  options: ConstructorParameters<typeof EgressProxy>[0],
): Promise<ListeningProxy> {
  const finished: NetworkDecision[] = [];
  const proxy = new EgressProxy({ ...options, onDecision: (decision) => finished.push(decision) });
  const server = createServer({ allowHalfOpen: true }, (socket) => proxy.accept(socket));
  const port = await listen(server);
  return {
    proxy,
    port,
    finished,
    async close() {
      await proxy.close();
      await closeServer(server);
    },
  };
}

/** A connection to a proxy as sandboxes have them: by a stream that is no socket. */
export function channelTo(proxy: EgressProxy): Duplex {
  const [inside, outside] = duplexPair();
  // As a channel does; the two of a pair know nothing of each other's end otherwise.
  outside.once('close', () => outside.writableFinished || inside.destroy());
  inside.once('close', () => inside.writableFinished || outside.destroy());
  inside.on('error', () => {});
  proxy.accept(outside);
  return inside;
}

/** Two servers, one for the allowed names and one that nobody may reach, and a proxy before them. */
export interface World extends ListeningProxy {
  readonly certificates: Certificates;
  readonly allowed: CountingServer;
  readonly forbidden: CountingServer;
  /** What the name servers were asked, which know every name: it is on loopback. */
  readonly asked: string[];
}

export async function startWorld(limits: Partial<ProxyLimits> = {}): Promise<World> {
  const certificates = makeCertificates([ALLOWED, 'x.b.test', 'c.test', 'evil.test']);
  const allowed = await serveBoth(echo, certificates);
  const forbidden = await serveBoth(echo, certificates);
  const asked: string[] = [];
  const target = `127.0.0.1:${allowed.port}`;
  const listening = await listenWith({
    rules: {
      allowedDomains: BYPASS_RULES,
      hostMap: {
        [ALLOWED]: target,
        'x.b.test': target,
        'c.test': target,
        // Mapped, and nevertheless not allowed.
        ...Object.fromEntries(FORBIDDEN_NAMES.map((name) => [name, `127.0.0.1:${forbidden.port}`])),
      },
    },
    resolve: async (name) => {
      asked.push(name);
      return ['127.0.0.1'];
    },
    limits,
  });
  return {
    ...listening,
    certificates,
    allowed,
    forbidden,
    asked,
    async close() {
      await listening.close();
      await Promise.all([allowed.close(), forbidden.close()]);
      certificates.remove();
    },
  };
}

/** Says what it was asked, and how long the body was. */
function echo(request: IncomingMessage, response: ServerResponse): void {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  request.on('end', () =>
    response.end(`${request.method} ${request.headers.host} ${request.url} ${bytes}\n`),
  );
}
