/** Ways to a port inside a sandbox: for waiting until somebody listens, and for forwarding. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { SandboxError } from '../errors.ts';
import type { Enforced, Relay } from '../runtimes/runtime.ts';

/** Makes connections to a port of 127.0.0.1 inside; rejects when nobody listens there. */
export type PortConnector = Pick<Relay, 'connect'>;

/** A port of this host's loopback that leads to one inside. */
export interface Forwarding {
  readonly host: '127.0.0.1';
  readonly port: number;
  /** Ends the connections, too; safe to call twice. */
  close(): Promise<void>;
}

/** At one time through one forwarding; more are turned away. */
const MAX_CONNECTIONS = 256;

/** Where a program is on the host's own network, its loopback is ours. */
export function directConnector({ network, isolation }: Enforced): PortConnector | undefined {
  const onHost = network === 'open' && (isolation === 'process' || isolation === 'namespace');
  return onHost ? { connect: connectHere } : undefined;
}

async function connectHere(port: number): Promise<Duplex> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  try {
    await once(socket, 'connect');
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Tries one after another; rejects as the last one does. Throws `POLICY_NOT_ENFORCEABLE` where there is none. */
export async function connectThrough(connectors: readonly PortConnector[], port: number): Promise<Duplex> {
  let failure: unknown = new SandboxError(
    'POLICY_NOT_ENFORCEABLE',
    'There is no way from here to a port of this sandbox.',
    {
      hint: 'Make it with forwardPorts: true, and start the process that listens with start().',
      details: { port },
    },
  );
  for (const connector of connectors) {
    try {
      return await connector.connect(port);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Throws `INPUT_INVALID` for what is no port. */
export function checkPort(port: unknown, { zero = false } = {}): void {
  if (Number.isInteger(port) && Number(port) >= (zero ? 0 : 1) && Number(port) <= 65_535) return;
  throw new SandboxError('INPUT_INVALID', `${String(port).slice(0, 100)} is no port.`, {
    hint: `Give a whole number from ${zero ? 0 : 1} to 65535.`,
    details: { port: String(port).slice(0, 100) },
  });
}

/** Listens on the host's loopback only. Throws `INPUT_INVALID` when the host's port is taken. */
export async function forwardPort(
  open: () => Promise<Duplex>,
  { hostPort = 0, using }: { readonly hostPort?: number; using(): () => void },
): Promise<Forwarding> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const release = using();
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      release();
    });
    socket.on('error', () => socket.destroy());
    open().then(
      (inside) => join(socket, inside),
      // Nobody listens inside: then nobody listens here.
      () => socket.resetAndDestroy(),
    );
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, hostPort);
  // A forwarding that was forgotten is no reason for this process to go on.
  server.unref();
  const closed = new Promise<void>((resolve) => server.once('close', resolve));
  const { port } = server.address() as { port: number };
  return {
    host: '127.0.0.1',
    port,
    async close() {
      server.close();
      const gone = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
      for (const socket of sockets) socket.destroy();
      await Promise.all([closed, ...gone]);
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen({ host: '127.0.0.1', port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new SandboxError('INPUT_INVALID', `Port ${port} of this host cannot be listened on.`, {
      hint: 'Name another hostPort, or none.',
      details: { port },
      cause: error,
    });
  }
}

/** Copies both ways; an end of one side ends that direction, and neither side outlives the other. */
function join(outside: Duplex, inside: Duplex): void {
  for (const [side, other] of [
    [outside, inside],
    [inside, outside],
  ] as const) {
    side.on('error', () => {});
    side.once('close', () => {
      if (side.errored || !side.readableEnded) other.destroy();
      // What came before its end is still to be handed over.
      else if (!side.writableFinished) other.end(() => other.destroy());
    });
    if (side.destroyed) other.destroy();
  }
  outside.pipe(inside);
  inside.pipe(outside);
}
