/** The way out of containers: the relay that the driver puts into each network, and nothing beside it. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { relayWish } from '../../src/egress/relayChannel.ts';
import type { Policy } from '../../src/policy/policy.ts';
import type {
  Command,
  Exit,
  Guest,
  GuestProcess,
  RelayWish,
  SandboxSpec,
} from '../../src/runtimes/runtime.ts';
import { describeMissing, TARGETS, type Target } from '../support/targets.ts';
import { NO_TRACES, tracesOf } from '../support/traces.ts';

const ENGINES = TARGETS.filter(({ name }) => name.startsWith('docker'));
const PORT = 3128;
const OTHER_PORT = 4128;

/** A relay whose every connection is answered with this word, and what was said over it. */
interface Way {
  readonly wish: RelayWish;
  readonly heard: readonly string[];
}

function wayTo(word: string, port = PORT): Way {
  const heard: string[] = [];
  const onConnection = (connection: Duplex): void => {
    connection.on('error', () => {});
    connection.once('data', (data) => {
      heard.push(String(data));
      connection.end(`${word}\n`);
    });
  };
  return { wish: relayWish({ port, onConnection }), heard };
}

function policyFor(network: Policy['network']): Policy {
  const limit = (value: number) => ({ value, default: true });
  return {
    network,
    networkIsDefault: false,
    limits: { memoryMb: limit(256), diskMb: limit(16), processes: limit(20), timeoutSec: limit(30) },
    requires: {},
  };
}

type Wanted = Pick<SandboxSpec, 'relay' | 'singleUse'> & { readonly network?: Policy['network'] };

async function open({ runtime }: Target, { network = 'allowlist', ...wanted }: Wanted): Promise<Guest> {
  const id = randomBytes(6).toString('hex');
  const guest = await runtime.create({ id, policy: policyFor(network), languages: ['python'], ...wanted });
  onTestFinished(() => guest.destroy());
  return guest;
}

/** The beginning of every program: tries are named by their error, as `errno` calls it. */
const PRELUDE = `
import errno, json, os, signal, socket, sys, time
def attempt(action):
    try: return action() or 'ok'
    except OSError as error: return errno.errorcode.get(error.errno, str(error.errno))
def ask(port, host='127.0.0.1'):
    with socket.create_connection((host, port), timeout=5) as connection:
        connection.sendall(b'hello')
        return connection.makefile().readline().strip()
`;

function start(
  guest: Guest,
  code: string,
  { args = [], ...more }: Partial<Command> & { readonly args?: readonly (string | number)[] } = {},
): Promise<GuestProcess> {
  const argv = ['python3', '-c', PRELUDE + code, ...args.map(String)] as const;
  return guest.spawn({ argv: [...argv], env: { ...guest.environment }, ...more });
}

interface Ran {
  readonly said: string;
  readonly complained: string;
  readonly exit: Exit;
}

async function ended({ stdout, stderr, exit }: GuestProcess): Promise<Ran> {
  const [said, complained] = await Promise.all([text(stdout), text(stderr)]);
  return { said, complained, exit: await exit };
}

async function run(...[guest, code, options]: Parameters<typeof start>): Promise<unknown> {
  const { said, complained } = await ended(await start(guest, code, options));
  try {
    return JSON.parse(said);
  } catch {
    throw new Error(`The program said ${JSON.stringify(said)} and ${JSON.stringify(complained)}.`);
  }
}

interface Talking {
  readonly program: GuestProcess;
  /** The next line that it says. */
  readonly line: () => Promise<string>;
}

/** A program that has said its first line, and goes on. */
async function talking(
  ...[guest, code, options]: Parameters<typeof start>
): Promise<Talking & { first: string }> {
  const program = await start(guest, code, options);
  const line = linesOf(program);
  return { program, line, first: await line() };
}

const SERVES = `
server = socket.create_server(('127.0.0.1', 5000))
print('up', flush=True)
while True:
    connection, _ = server.accept()
    connection.sendall(b'served\\n')
    connection.close()
`;

const ASKS = 'print(json.dumps(attempt(lambda: ask(int(sys.argv[1])))))';

/** Everything on this host that somebody could reach who had a way. */
const hosts: Server[] = [];
let hostPort = 0;
/** The host's own addresses, among them the gateways of the engine's networks. */
let hostAddresses: string[] = [];

beforeAll(async () => {
  const server = createServer((socket) => socket.on('error', () => {}).end('host\n')).listen(0, '0.0.0.0');
  await once(server, 'listening');
  hosts.push(server);
  hostPort = (server.address() as AddressInfo).port;
  hostAddresses = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);
});

afterAll(() => {
  for (const server of hosts) server.close();
});

for (const target of ENGINES) {
  const ownKernel = target.capabilities.isolation === 'kernel';

  describe.each([true, false])(`the relay in ${target.name}, single use %s`, (singleUse) => {
    it('carries what a program says to its own loopback, and is the only way', async () => {
      const way = wayTo('answered');
      const guest = await open(target, { singleUse, relay: way.wish });
      expect(guest.enforced.network).toBe('allowlist');
      const seen = await run(
        guest,
        `
port, *hosts = sys.argv[1:]
def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client: client.sendto(b'x', ('192.0.2.1', 53))
def name():
    try: socket.getaddrinfo('example.org', 80)
    except socket.gaierror: return 'unknown'
print(json.dumps({
    'relay': attempt(lambda: ask(${PORT})),
    'interfaces': [name for _, name in socket.if_nameindex()],
    'routes': open('/proc/net/route').read().splitlines()[1:],
    'host': sorted({attempt(lambda: ask(int(port), host)) for host in hosts}),
    'loopback': attempt(lambda: ask(int(port))),
    'outside': attempt(lambda: ask(80, '192.0.2.1')),
    'udp': attempt(udp), 'name': name(),
}))`,
        { args: [hostPort, ...hostAddresses] },
      );
      const unreachable = expect.stringMatching(ownKernel ? /^E(NET|HOST)UNREACH$/ : /^ENETUNREACH$/);
      expect(seen).toEqual({
        ...{ relay: 'answered', interfaces: ['lo'], routes: [], name: 'unknown' },
        ...{ host: [unreachable], loopback: 'ECONNREFUSED', outside: unreachable, udp: unreachable },
      });
      expect(way.heard).toEqual(['hello']);
    });

    it('makes connections to what a program opens, and to nothing else', async () => {
      const guest = await open(target, { singleUse, relay: wayTo('', 0).wish, network: 'none' });
      expect(guest.enforced.network).toBe('none');
      const { program: server } = await talking(guest, SERVES);
      const connection = await server.relay?.connect(5000);
      expect(await text(connection as Duplex)).toBe('served\n');
      await expect(server.relay?.connect(5001)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
      await server.kill('SIGKILL');
    });

    it('leaves no file to a program, and takes nothing of what it may have', async () => {
      const counts = `
children, error = [], None
while error is None:
    try: child = os.fork()
    except OSError as problem: error = errno.errorcode[problem.errno]
    else:
        if child == 0: time.sleep(60); os._exit(0)
        children.append(child)
for child in children: os.kill(child, signal.SIGKILL)
def fill(folder):
    written = 0
    with open(folder + '/filler', 'wb', buffering=0) as file:
        try:
            while True: written += file.write(b'x' * 4096)
        except OSError: return written
print(json.dumps({'children': len(children), 'error': error, 'files': os.listdir('/dev/shm'),
    'written': [fill(folder) for folder in ('/workspace', '/tmp', '/dev/shm')]}))`;
      const beside = await run(await open(target, { singleUse, relay: wayTo('').wish }), counts);
      const without = await run(await open(target, { singleUse, network: 'none' }), counts);
      expect(beside).toEqual(without);
      expect(beside).toMatchObject({ error: 'EAGAIN', files: [] });
    });

    it('is in place before there is a sandbox, or there is none', async () => {
      const silent: RelayWish = {
        port: PORT,
        attach: () => Promise.reject(new Error('it was not ready in time')),
      };
      const opening = open(target, { singleUse, relay: silent }).then(async (guest) => {
        // A network for each program has its relay when the program comes.
        expect(guest.sharesLoopback || singleUse).toBe(false);
        await guest.spawn({ argv: ['/usr/bin/touch', '/workspace/ran'], env: {} });
      });
      await expect(opening).rejects.toMatchObject({
        code: 'SANDBOX_FAILED',
        message: expect.stringContaining('it was not ready in time'),
      });
    });

    it('takes a program that pretends to be it, or ends it, for one that wants no network', async () => {
      const way = wayTo('answered');
      const guest = await open(target, { singleUse, relay: way.wish });
      const { program, line, first } = await talking(
        guest,
        `
def command(pid):
    try: return open(f'/proc/{pid}/cmdline').read().split('\\0')
    except OSError: return []
relays = [int(pid) for pid in os.listdir('/proc') if pid.isdigit() and command(pid)[1:2] == ['${PORT}']]
def forge(pid):
    with open(f'/proc/{pid}/fd/1', 'wb', buffering=0) as channel:
        # OPEN of connection 7, and data that nobody sent.
        channel.write(bytes([2, 7, 0, 0, 0, 0, 0, 0, 0]) + bytes([5, 7, 0, 0, 0, 6, 0, 0, 0]) + b'forged')
before = attempt(lambda: ask(${PORT}))
forged = [attempt(lambda: forge(pid)) for pid in relays]
ended = [attempt(lambda: os.kill(pid, signal.SIGKILL)) for pid in relays]
print(json.dumps({'before': before, 'relays': len(relays), 'forged': forged, 'ended': ended}), flush=True)
sys.stdin.readline()
print(json.dumps({'after': attempt(lambda: ask(${PORT}))}))`,
        { stdin: 'stream' },
      );
      const shares = !ownKernel && !singleUse;
      const seen = JSON.parse(first);
      expect(seen).toMatchObject({ before: 'answered', relays: shares ? 0 : 1 });
      if (!shares) await program.relay?.closed;
      program.stdin?.end('\n');
      const { after } = JSON.parse(await line());
      expect(after).toEqual(shares ? 'answered' : expect.stringMatching(/^ECONN(REFUSED|RESET)$/));
      expect((await program.exit).code).toBe(0);
      // What it forged may have been heard, as its own words: it could have said them to the relay as well.
      expect(way.heard.filter((said) => said !== 'forged')).toEqual(shares ? ['hello', 'hello'] : ['hello']);
    });
  });

  describe(`networks in ${target.name}`, () => {
    it('are apart from each other, with a relay each', async () => {
      const [one, two] = [wayTo('one'), wayTo('two', OTHER_PORT)];
      const [first, second] = await Promise.all([
        open(target, { relay: one.wish }),
        open(target, { relay: two.wish }),
      ]);
      const asksBoth = `print(json.dumps([attempt(lambda: ask(port)) for port in (${PORT}, ${OTHER_PORT})]))`;
      expect(await run(first, asksBoth)).toEqual(['one', 'ECONNREFUSED']);
      expect(await run(second, asksBoth)).toEqual(['ECONNREFUSED', 'two']);
      expect([one.heard, two.heard]).toEqual([['hello'], ['hello']]);
    });

    it('are shared by the programs of one sandbox exactly where it says so', async () => {
      const guest = await open(target, { network: 'none' });
      expect(guest.sharesLoopback).toBe(!ownKernel);
      const { program: server } = await talking(guest, SERVES);
      const asked = await run(guest, ASKS, { args: [5000] });
      expect(asked).toBe(guest.sharesLoopback ? 'served' : 'ECONNREFUSED');
      await server.kill('SIGKILL');
    });

    it('are of one program alone where that has a relay of its own', async () => {
      const [shared, own] = [wayTo('shared'), wayTo('own', OTHER_PORT)];
      const guest = await open(target, { relay: shared.wish });
      const { program, line } = await talking(
        guest,
        `
print('up', flush=True)
server = socket.create_server(('127.0.0.1', 5000))
sys.stdin.readline()
print(json.dumps([attempt(lambda: ask(port)) for port in (${PORT}, ${OTHER_PORT})]))`,
        { relay: own.wish, stdin: 'stream' },
      );
      const others = `print(json.dumps([attempt(lambda: ask(port)) for port in (${PORT}, ${OTHER_PORT}, 5000)]))`;
      expect(await run(guest, others)).toEqual(['shared', 'ECONNREFUSED', 'ECONNREFUSED']);
      program.stdin?.end('\n');
      expect(JSON.parse(await line())).toEqual(['ECONNREFUSED', 'own']);
    });

    it('of a program alone are not there without its relay, and neither is the program', async () => {
      const guest = await open(target, { relay: wayTo('shared').wish });
      const relay: RelayWish = { port: OTHER_PORT, attach: () => Promise.reject(new Error('too late')) };
      const argv = ['/usr/bin/touch', '/workspace/ran'] as const;
      const spawning = guest.spawn({ argv: [...argv], env: {}, relay });
      await expect(spawning).rejects.toMatchObject({ code: 'SANDBOX_FAILED' });
      expect(await guest.listFiles('.', 100)).toEqual([]);
      // Control: without that relay it is.
      expect((await (await guest.spawn({ argv: [...argv], env: {} })).exit).code).toBe(0);
      expect((await guest.listFiles('.', 100)).map(({ name }) => name)).toEqual(['ran']);
    });

    it('end with their sandbox, which leaves nothing', async () => {
      const way = wayTo('answered');
      const guest = await open(target, { relay: way.wish });
      const { program } = await talking(guest, SERVES);
      const { relay } = program;
      expect(tracesOf(process.pid).containers).not.toEqual([]);
      await guest.destroy();
      await relay?.closed;
      expect(tracesOf(process.pid).containers).toEqual(NO_TRACES.containers);
    });
  });
}

for (const target of ENGINES.filter(({ name }) => name === 'docker')) {
  describe('an open network', () => {
    it('is shared by the programs of its sandbox, and out of reach for those of others', async () => {
      const openOne = await open(target, { network: 'open' });
      expect([openOne.enforced.network, openOne.sharesLoopback]).toEqual(['open', true]);
      const { program } = await talking(
        openOne,
        `
server = socket.create_server(('0.0.0.0', 5000))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.connect(('192.0.2.1', 9))
    open('/workspace/address', 'w').write(client.getsockname()[0])
print('up', flush=True)
while True:
    connection, _ = server.accept()
    connection.sendall(b'served\\n')
    connection.close()`,
      );
      const address = Buffer.from(await openOne.readFile('address', 100)).toString();
      const asks = 'print(json.dumps(attempt(lambda: ask(5000, sys.argv[1]))))';
      const closedOne = await open(target, { relay: wayTo('answered').wish });
      expect(await run(closedOne, asks, { args: [address] })).toBe('ENETUNREACH');
      expect(await run(openOne, ASKS, { args: [5000] })).toBe('served');
      // Control: who has a network too reaches it. A program with a relay of its own has none, wherever it is.
      expect(await run(await open(target, { network: 'open' }), asks, { args: [address] })).toBe('served');
      const own = { args: [address], relay: wayTo('own').wish };
      expect(await run(openOne, asks, own)).toBe('ENETUNREACH');
      await program.kill('SIGKILL');
    });
  });
}

describeMissing('the relay');

/** Reads what a program says line by line. */
function linesOf({ stdout }: GuestProcess): () => Promise<string> {
  const chunks = stdout[Symbol.asyncIterator]();
  let left = '';
  return async () => {
    while (!left.includes('\n')) {
      const { value, done } = await chunks.next();
      if (done) throw new Error(`It ended after ${JSON.stringify(left)}.`);
      left += String(Buffer.from(value));
    }
    const end = left.indexOf('\n');
    const line = left.slice(0, end);
    left = left.slice(end + 1);
    return line;
  };
}
