/** How an HTTP surface is reached, and how it stops. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { SandboxError } from '../errors.ts';
import { Connections } from './connections.ts';
import { errorResponse } from './errors.ts';
import { isLoopback } from './loopback.ts';

export interface ListenOptions {
  /** A name or an address of this machine. */
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Also where others than this machine can reach it; only for whoever checks keys, or was told loudly not to. */
  readonly allowRemote?: boolean;
  readonly limits?: Partial<ConnectionLimits>;
  /** Told of what is thrown beside the answers of the app, which is a bug. */
  readonly onUnexpected?: (error: unknown) => void;
}

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** How long the headers of a request may take, from the opening of the connection or the first byte. */
  readonly headersSec: number;
  /** How long a whole request may take to come in; its answer may take as long as it wants. */
  readonly requestSec: number;
  /** How long a connection stays open between requests. */
  readonly idleSec: number;
  readonly maxHeaderBytes: number;
  readonly maxRequestsPerConnection: number;
}

/** Node's own are a minute for headers, looked at every half a minute, and connections without a limit. */
const LIMITS: ConnectionLimits = {
  maxConnections: 1000,
  headersSec: 10,
  requestSec: 300,
  idleSec: 10,
  maxHeaderBytes: 16 * 1024,
  maxRequestsPerConnection: 1000,
};

/** How often Node looks for requests that take too long. */
const CHECK_MS = 1000;

const MAX_HEADERS = 100;

/** A server that answers. */
export interface Listening {
  /** Without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Takes nothing on any more, waits for what is being answered, and ends after `graceSec` what is left then. */
  close(options: { readonly graceSec: number }): Promise<void>;
}

export type Fetch = (request: Request, env: HttpBindings) => Response | Promise<Response>;

/**
 * Answers requests with what `fetch` makes of them. Rejects with `POLICY_DENIED` where others than this machine could ask and
 * nobody allowed it, and with `INPUT_INVALID` where that address cannot be had.
 */
export async function listen(fetch: Fetch, options: ListenOptions): Promise<Listening> {
  const { host, port, allowRemote = false, onUnexpected = () => {} } = options;
  if (!allowRemote && !isLoopback(host)) throw remote(host);
  const limits = { ...LIMITS, ...options.limits };
  const server = createLimitedServer(limits);
  const connections = new Connections(server, limits.maxConnections);
  server.on(
    'request',
    // It puts its own `Request` in the place of the global one: limits on bodies of unknown length need that.
    getRequestListener(fetch as (request: Request, env: unknown) => ReturnType<Fetch>, {
      errorHandler: (error) => unreadable(error, onUnexpected),
    }),
  );
  const { address, family, port: bound } = await bind(server, host, port);
  const ending = (graceSec: number) => end(server, connections, graceSec);
  if (!allowRemote && !isLoopback(address)) {
    await ending(0);
    throw remote(`${host} (${address})`);
  }
  let ended: Promise<void> | undefined;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    port: bound,
    close({ graceSec }) {
      ended ??= ending(graceSec);
      return ended;
    },
  };
}

function createLimitedServer(limits: ConnectionLimits): Server {
  const server = createServer({
    headersTimeout: limits.headersSec * 1000,
    requestTimeout: limits.requestSec * 1000,
    keepAliveTimeout: limits.idleSec * 1000,
    connectionsCheckingInterval: CHECK_MS,
    maxHeaderSize: limits.maxHeaderBytes,
    requireHostHeader: true,
  });
  server.maxHeadersCount = MAX_HEADERS;
  server.maxRequestsPerSocket = limits.maxRequestsPerConnection;
  return server;
}

function bind(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException): void => reject(cannotListen(error, host, port));
    server.once('error', refuse);
    server.listen({ host, port }, () => {
      server.off('error', refuse);
      resolve(server.address() as AddressInfo);
    });
  });
}

async function end(server: Server, connections: Connections, graceSec: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  connections.endIdle();
  const inTime = new AbortController();
  const grace = delay(graceSec * 1000, undefined, { signal: inTime.signal }).catch(() => {});
  await Promise.race([closed, grace]);
  inTime.abort();
  connections.endAll();
  await closed;
}

/** A request that makes no sense as one, such as one with a broken address: the app has not seen it. */
function unreadable(error: unknown, onUnexpected: (error: unknown) => void): Response {
  if (!(error instanceof Error) || error.name !== 'RequestError')
    return errorResponse(error, { onUnexpected });
  const refused = new SandboxError(
    'INPUT_INVALID',
    'The address or the Host header of the request is no such thing.',
    {
      hint: 'Ask for a path of this server, as in http://127.0.0.1:8080/healthz',
    },
  );
  return errorResponse(refused);
}

function remote(host: string): SandboxError {
  return new SandboxError(
    'POLICY_DENIED',
    `Whoever reaches this machine could run programs on it: ${JSON.stringify(host)} is not only for this machine, and nobody needs a key.`,
    {
      hint: 'Make a key with: glovebox keys create. Or listen on 127.0.0.1. Only where something else checks who asks: --insecure-no-authentication',
      details: { host },
    },
  );
}

const REASONS: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  EADDRINUSE: ['something else listens there', 'End that, or give another port; 0 takes any that is free.'],
  EACCES: ['this user may not', 'Give a port above 1023.'],
  EADDRNOTAVAIL: ['this machine does not have that address', 'Give one that it has, such as 127.0.0.1.'],
  ENOTFOUND: ['there is no such name', 'Give an address, such as 127.0.0.1.'],
};

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): SandboxError {
  const [reason, hint] = REASONS[error.code ?? ''] ?? [error.message, 'Give another host or port.'];
  return new SandboxError('INPUT_INVALID', `Nothing can listen on ${host}, port ${port}: ${reason}.`, {
    hint,
    details: { host, port },
    cause: error,
  });
}
