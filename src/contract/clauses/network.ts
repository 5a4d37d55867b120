import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type Box, newNonce } from '../box.ts';
import type { Clause } from '../clause.ts';
import { must, mustEqual } from '../expectations.ts';

/** What the listeners say, so that being reached is not mistaken for anything else. */
const GREETING = 'reached';

const LOOPBACK = '127.0.0.1';

/** Looks around and tries to reach the host's listeners. */
const LOOK_AROUND = `
import socket
port, abstract, host = int(sys.argv[1]), sys.argv[2], sys.argv[3]
def reach(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(2)
        try:
            probe.connect(address)
            return probe.recv(16).decode()
        except OSError as problem: return type(problem).__name__
def route():
    # Connecting a datagram socket sends nothing and only asks for a route (an address that nobody has).
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try: probe.connect(('192.0.2.1', 9))
        except OSError: return False
        return True
print(json.dumps({
    'tcp': reach(socket.AF_INET, (host, port)),
    'abstract': reach(socket.AF_UNIX, '\\0' + abstract),
    'interfaces': [name for _, name in socket.if_nameindex()],
    'route': route(),
}))`;

const ALLOWED = 'allowed.test';

/** Asks two hosts by the ordinary means. */
const FETCH = `
import urllib.error, urllib.request
def fetch(url):
    try: return urllib.request.urlopen(url, timeout=10).read().decode()
    except urllib.error.HTTPError as refusal: return str(refusal.code)
    except OSError as problem: return type(problem).__name__
print(json.dumps({'allowed': fetch('http://${ALLOWED}/'), 'other': fetch('http://other.test/')}))`;

interface Surroundings {
  readonly tcp: string;
  readonly abstract: string;
  readonly interfaces: readonly string[];
  readonly route: boolean;
}

export const NETWORK_CLAUSES: readonly Clause[] = [
  {
    id: 'network-none',
    promise: 'With no network there is only a loopback of its own: no route and no socket of the host.',
    claimedBy: ({ network }) => network.includes('none'),
    asks: { network: 'none' },
    async check(context) {
      const box = await context.open();
      const seen = await besideListeners((args) => lookAround(box, args));
      mustEqual(seen.interfaces, ['lo'], 'the list of interfaces');
      must(!seen.route, 'there is a route');
      must(seen.tcp !== GREETING, "a listener on the host's 127.0.0.1 is reached");
      must(seen.abstract !== GREETING, "an abstract socket of the host's is reached");
      mustEqual(box.enforced.network, 'none', 'enforced.network');
    },
  },
  {
    id: 'network-open',
    promise: 'With an open network a listener of the host is reached, by the program that otherwise fails.',
    claimedBy: ({ network }) => network.includes('open'),
    asks: { network: 'open' },
    async check(context) {
      const box = await context.open();
      const seen = await besideListeners((args) => lookAround(box, args), await hostAsSeenFrom(box));
      mustEqual(seen.tcp, GREETING, 'what a listener of the host says');
      mustEqual(box.enforced.network, 'open', 'enforced.network');
    },
  },
  {
    id: 'network-allowlist',
    promise:
      'With an allowlist an allowed host is reached, another one is not, and nothing but by the way that checks it.',
    claimedBy: ({ network }) => network.includes('allowlist'),
    asks: { network: 'allowlist' },
    async check(context) {
      const server = createHttpServer((_, response) => {
        response.end(GREETING);
      });
      server.listen(0, LOOPBACK);
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      try {
        const at = `${LOOPBACK}:${port}`;
        const box = await context.open({ network: 'allowlist', hosts: { [ALLOWED]: at } });
        const { allowed, other } = await box.ask<{ allowed: string; other: string }>(FETCH);
        mustEqual(allowed, GREETING, 'what the allowed host says');
        mustEqual(other, '403', 'what is heard of a host that is not allowed');
      } finally {
        server.closeAllConnections();
        server.close();
      }
      const box = await context.open({ network: 'allowlist' });
      const seen = await besideListeners((args) => lookAround(box, args));
      mustEqual(seen.interfaces, ['lo'], 'the list of interfaces');
      must(!seen.route, 'there is a route');
      must(seen.tcp !== GREETING, "a listener on the host's 127.0.0.1 is reached");
      must(seen.abstract !== GREETING, "an abstract socket of the host's is reached");
      mustEqual(box.enforced.network, 'allowlist', 'enforced.network');
    },
  },
];

/**
 * The host's address as a program sees it: its own loopback where it is in the host's network, and the gateway of
 * its network where it has one of its own and the host is that gateway.
 */
async function hostAsSeenFrom(box: Box): Promise<string> {
  const gateway = await box.ask<string | null>(
    `import socket, struct
gateway = None
for line in open('/proc/net/route').read().splitlines()[1:]:
    fields = line.split()
    if fields[1] == '00000000' and int(fields[3], 16) & 2: gateway = socket.inet_ntoa(struct.pack('<I', int(fields[2], 16)))
print(json.dumps(gateway))`,
  );
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some(({ address }) => address === gateway) && gateway !== null ? gateway : LOOPBACK;
}

function lookAround(box: Box, args: readonly string[]): Promise<Surroundings> {
  return box.ask<Surroundings>(LOOK_AROUND, { args });
}

/** Listens on this address and on an abstract socket while `look` does its work with their addresses. */
async function besideListeners<T>(
  look: (args: readonly string[]) => Promise<T>,
  host: string = LOOPBACK,
): Promise<T> {
  const name = newNonce();
  const servers: Server[] = [];
  const listen = async (options: ListenOptions): Promise<Server> => {
    const server = createServer((socket) => {
      // Whoever goes away before the greeting is no concern of the listener.
      socket.on('error', () => {});
      socket.end(GREETING);
    });
    server.listen(options);
    await once(server, 'listening');
    servers.push(server);
    return server;
  };
  try {
    const tcp = await listen({ host, port: 0 });
    // Only Linux has sockets with a name and no file.
    if (process.platform === 'linux') await listen({ path: `\0${name}` });
    const address = tcp.address();
    must(address !== null && typeof address === 'object', `no listener could be opened on ${host}`);
    return await look([String(address.port), name, host]);
  } finally {
    for (const server of servers) server.close();
  }
}
