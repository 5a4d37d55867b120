import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { relayWish } from '../../src/egress/relayChannel.ts';
import { isSandboxError } from '../../src/errors.ts';
import { gvisor } from '../../src/runtimes/gvisor/index.ts';
import { starterNow } from '../../src/runtimes/host/starter/current.ts';
import type { Command, Guest, GuestProcess, Relay, RelayWish, Runtime } from '../../src/runtimes/runtime.ts';
import { eventually } from '../support/eventually.ts';

const runtime: Runtime = gvisor({ interpreters: { python: '/usr/bin/python3' } });
const probe = await runtime.probe();
const required = (process.env['REQUIRED_RUNTIMES'] ?? '').split(',').includes('gvisor');
const reason = probe.available
  ? probe.capabilities.network.includes('allowlist')
    ? undefined
    : `${probe.version} opens no pipes`
  : probe.reason;

it.skipIf(!required)('is here where REQUIRED_RUNTIMES names it', () => {
  expect(reason).toBeUndefined();
});

const PORT = 3128;
const PYTHON = '/usr/bin/python3';

describe.skipIf(reason)(`a relay in gVisor${reason ? ` (skipped: ${reason})` : ''}`, () => {
  let host: Server;
  let hostPort: number;
  const guests: Guest[] = [];

  beforeAll(async () => {
    host = createServer((socket) => socket.end('the host')).listen(0, '127.0.0.1');
    await once(host, 'listening');
    hostPort = (host.address() as AddressInfo).port;
  });
  afterAll(async () => {
    await Promise.all(guests.map((guest) => guest.destroy()));
    host.close();
  });

  async function create(relay: RelayWish | undefined, network: 'none' | 'allowlist' = 'allowlist') {
    const limit = (value: number) => ({ value, default: true });
    const guest = await runtime.create({
      id: randomBytes(6).toString('hex'),
      policy: {
        network,
        networkIsDefault: false,
        requires: {},
        limits: { memoryMb: limit(256), diskMb: limit(64), processes: limit(64), timeoutSec: limit(60) },
      },
      languages: ['python'],
      ...(relay && { relay }),
    });
    guests.push(guest);
    return guest;
  }

  function python(guest: Guest, script: string, more: Partial<Command> = {}): Promise<GuestProcess> {
    return guest.spawn({ argv: [PYTHON, '-c', script], env: guest.environment, ...more });
  }

  async function ended(program: GuestProcess): Promise<{ code: number; stdout: string; stderr: string }> {
    const [stdout, stderr, { code }] = await Promise.all([
      text(program.stdout),
      text(program.stderr),
      program.exit,
    ]);
    return { code, stdout, stderr };
  }

  const shout = (connection: Duplex): void => {
    let heard = '';
    connection.on('data', (data) => {
      heard += data;
    });
    connection.on('end', () => connection.end(heard.toUpperCase()));
  };

  const ASK = `
import socket
def ask(port, question, host='127.0.0.1'):
    try:
        with socket.create_connection((host, port), 5) as there:
            there.sendall(question)
            there.shutdown(socket.SHUT_WR)
            return there.makefile('rb').read().decode()
    except OSError as error:
        return type(error).__name__
`;

  it('is the only way out, in place before the program', async () => {
    const guest = await create(relayWish({ port: PORT, onConnection: shout }));
    expect([guest.enforced.network, guest.sharesLoopback]).toEqual(['allowlist', false]);
    const { code, stdout, stderr } = await ended(
      await python(
        guest,
        `${ASK}
print(ask(${PORT}, b'question'))
print(ask(${hostPort}, b''), ask(${hostPort}, b'', '10.0.2.2'), ask(80, b'', '192.0.2.1'))
print([name for _, name in socket.if_nameindex()])`,
      ),
    );
    expect([stderr, stdout.split('\n')[0]]).toEqual(['', 'QUESTION']);
    expect(stdout).toMatch(/\n(\w+Error|timeout) (\w+Error|timeout) (\w+Error|timeout)\n\['lo'\]\n$/);
    expect(code).toBe(0);
  });

  it('is another one for each program, which ends with it', async () => {
    const from: number[] = [];
    const wish = (number: number): RelayWish =>
      relayWish({
        port: PORT,
        onConnection: (connection) => {
          from.push(number);
          shout(connection);
        },
      });
    const guest = await create(wish(1));
    const script = `${ASK}\nprint(ask(${PORT}, b'x'))`;
    const programs = [
      await python(guest, script),
      await python(guest, script, { relay: wish(2) }),
      await python(guest, script),
    ];
    expect(await Promise.all(programs.map(ended))).toEqual(
      programs.map(() => ({ code: 0, stdout: 'X\n', stderr: '' })),
    );
    expect(from.sort()).toEqual([1, 1, 2]);
    await Promise.all(programs.map(({ relay }) => (relay as Relay).closed));
    expect(new Set(programs.map(({ relay }) => relay)).size).toBe(3);
  });

  it('lets us in, where nothing is let out', async () => {
    const guest = await create(undefined, 'none');
    const program = await python(
      guest,
      `
import socket
with socket.create_server(('127.0.0.1', 8080)) as server:
    print('serving', flush=True)
    for _ in range(2):
        with server.accept()[0] as there:
            for data in iter(lambda: there.recv(65536), b''): there.sendall(data)`,
      { relay: relayWish({ port: 0, onConnection: () => {} }) },
    );
    expect(guest.enforced.network).toBe('none');
    const relay = program.relay as Relay;
    const said = program.stdout[Symbol.asyncIterator]();
    expect(String((await said.next()).value)).toBe('serving\n');
    await expect(relay.connect(8081)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    const sent = Buffer.alloc(1024 * 1024, 'content ');
    for (const _ of [1, 2]) {
      const connection = await relay.connect(8080);
      connection.end(sent);
      expect(await text(connection)).toBe(sent.toString());
    }
    expect((await program.exit).code).toBe(0);
    await relay.closed;
  });

  it('is held like a program, and out of its reach', async () => {
    const guest = await create(relayWish({ port: PORT, onConnection: shout }));
    const { stdout, stderr } = await ended(
      await python(
        guest,
        `${ASK}
import os, re, signal
def status(pid): return dict(re.findall(r'^(\\w+):\\s*(.*)$', open(f'/proc/{pid}/status').read(), re.M))
relay, = [pid for pid in os.listdir('/proc') if pid.isdigit() and int(pid) not in (1, os.getpid())]
theirs, ours = status(relay), status('self')
print(all(theirs[name] == ours[name] for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'Seccomp')), theirs['Seccomp'])
print(0 not in map(int, theirs['Uid'].split()), theirs['Uid'] != ours['Uid'])
def attempt(what):
    try: what()
    except OSError as error: return type(error).__name__
    return 'done'
print(attempt(lambda: os.kill(int(relay), signal.SIGKILL)))
print(attempt(lambda: open(f'/proc/{relay}/fd/0', 'rb')), attempt(lambda: open(f'/proc/{relay}/fd/1', 'wb')))
print(attempt(lambda: open(f'/proc/{relay}/mem', 'rb')), attempt(lambda: os.readlink(f'/proc/{relay}/exe')))
print(attempt(lambda: os.listdir('/run/glovebox')), attempt(lambda: open('/run/glovebox/relay-in')))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
attempt(lambda: os.kill(-1, signal.SIGHUP))
print(ask(${PORT}, b'still here'))`,
      ),
    );
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual([
      'True 2',
      'True True',
      'PermissionError',
      ...['PermissionError PermissionError', 'PermissionError PermissionError'],
      'PermissionError PermissionError',
      ...['STILL HERE', ''],
    ]);
  });

  it('makes named pipes of a program no way to the host', async () => {
    const guest = await create(relayWish({ port: PORT, onConnection: shout }));
    const first = await ended(
      await python(guest, `import os; os.mkfifo('/workspace/pipe'); print(os.listdir('/workspace'))`),
    );
    expect(first.stdout).toBe("['pipe']\n");
    expect(await guest.listFiles('.', 100)).toEqual([]);
  });

  it('carries 20 MB each way', async () => {
    const size = 20 * 1024 * 1024;
    const guest = await create(
      relayWish({
        port: PORT,
        onConnection: (connection) => {
          connection.pipe(connection);
        },
      }),
    );
    const { stdout, stderr } = await ended(
      await python(
        guest,
        `
import hashlib, socket, threading
sent, heard, count = hashlib.sha256(), hashlib.sha256(), 0
there = socket.create_connection(('127.0.0.1', ${PORT}))
def send():
    for at in range(0, ${size}, 65536):
        data = (b'%d ' % at) * 65536
        data = data[:65536]
        sent.update(data)
        there.sendall(data)
    there.shutdown(socket.SHUT_WR)
thread = threading.Thread(target=send)
thread.start()
while data := there.recv(65536):
    heard.update(data)
    count += len(data)
thread.join()
print(count, sent.digest() == heard.digest())`,
      ),
    );
    expect([stdout, stderr]).toEqual([`${size} True\n`, '']);
  });

  it('carries a hundred connections at once', async () => {
    const guest = await create(relayWish({ port: PORT, onConnection: shout }));
    const { stdout } = await ended(
      await python(
        guest,
        `
import socket
all = [socket.create_connection(('127.0.0.1', ${PORT})) for _ in range(100)]
for number, there in enumerate(all):
    there.sendall(b'n%d' % number)
    there.shutdown(socket.SHUT_WR)
print([there.makefile('rb').read() for there in all] == [b'N%d' % number for number in range(100)])`,
      ),
    );
    expect(stdout).toBe('True\n');
  });

  it('costs a program only its way out when it dies', async () => {
    let open: Duplex | undefined;
    const guest = await create(
      relayWish({
        port: PORT,
        onConnection: (connection) => {
          open = connection;
          connection.write('hello');
        },
      }),
    );
    const program = await python(
      guest,
      `${ASK}
import sys
there = socket.create_connection(('127.0.0.1', ${PORT}))
print(there.recv(5).decode(), flush=True)
try: print(there.recv(5))
except OSError as error: print(type(error).__name__)
print(ask(${PORT}, b'anybody'))
sys.exit(4)`,
    );
    const relay = program.relay as Relay;
    await eventually('it is connected', () => open !== undefined);
    // Its standard input ends, and so does it.
    relay.close();
    await relay.closed;
    expect(open?.destroyed).toBe(true);
    const { code, stdout } = await ended(program);
    expect([code, stdout.split('\n')[0], stdout.split('\n')[2]]).toEqual([
      4,
      'hello',
      'ConnectionRefusedError',
    ]);
  });

  it('costs one program its way out when its channel is forged, and no other', async () => {
    const wish = relayWish({ port: PORT, onConnection: shout });
    let forge: () => void = () => {};
    const forged = new Promise<void>((resolve) => {
      forge = resolve;
    });
    /** The same with bytes among what the relay says that it never says. */
    const forging: RelayWish = {
      ...wish,
      attach: ({ input, output }) => {
        const said = output[Symbol.asyncIterator]();
        const lie = forged.then(() => ({ value: Buffer.from([9, 9, 9, 9, 9, 9, 9, 9, 9]), done: false }));
        return wish.attach({
          input,
          output: {
            [Symbol.asyncIterator]: () => ({ next: () => Promise.race([said.next(), lie]) }),
            destroy: () => output.destroy(),
          },
        });
      },
    };
    const guest = await create(wish);
    const script = `${ASK}
print(ask(${PORT}, b'before'), flush=True)
input()
print(ask(${PORT}, b'after'))`;
    const [bad, good] = await Promise.all([
      python(guest, script, { stdin: 'stream', relay: forging }),
      python(guest, script, { stdin: 'stream' }),
    ]);
    const ends = [ended(bad), ended(good)];
    forge();
    await (bad.relay as Relay).closed;
    bad.stdin?.end('\n');
    good.stdin?.end('\n');
    const [ofBad, ofGood] = await Promise.all(ends);
    expect(ofBad).toMatchObject({ code: 0, stdout: expect.stringMatching(/Error\n$/) });
    expect(ofGood).toEqual({ code: 0, stdout: 'BEFORE\nAFTER\n', stderr: '' });
  });

  it('fails the start where the relay does not start, and leaves nothing', async () => {
    const guest = await create(undefined, 'none');
    const starting = python(guest, 'print(1)', {
      relay: relayWish({ port: 70_000, onConnection: () => {} }),
    });
    await expect(starting).rejects.toSatisfy(
      (error) =>
        isSandboxError(error) && error.code === 'SANDBOX_FAILED' && /must be a port/.test(error.message),
    );
    expect(await ended(await python(guest, 'print(2)'))).toMatchObject({ code: 0, stdout: '2\n' });
  });

  it('fails the start where nobody takes the relay, and leaves nothing', async () => {
    const guest = await create({ port: PORT, attach: () => Promise.reject(new Error('not now')) });
    await expect(python(guest, 'print(1)')).rejects.toThrow('not now');
    const other = await ended(
      await python(guest, 'print(2)', { relay: relayWish({ port: 0, onConnection: () => {} }) }),
    );
    expect(other).toMatchObject({ code: 0, stdout: '2\n' });
  });

  it('says why a start has failed, however slow the process is that started it', async () => {
    const starter = starterNow()?.pid ?? 0;
    const attach = async (): Promise<never> => {
      expect(starter).toBeGreaterThan(1);
      process.kill(starter, 'SIGSTOP');
      setTimeout(() => process.kill(starter, 'SIGCONT'), 200);
      throw new Error('not now');
    };
    const guest = await create({ port: PORT, attach });
    await expect(python(guest, 'print(1)')).rejects.toThrow('not now');
  });
});

describe.skipIf(reason)(`an interrupt in gVisor${reason ? ` (skipped: ${reason})` : ''}`, () => {
  let guest: Guest;
  beforeAll(async () => {
    const limit = (value: number) => ({ value, default: true });
    guest = await runtime.create({
      id: randomBytes(6).toString('hex'),
      policy: {
        network: 'none',
        networkIsDefault: true,
        requires: {},
        limits: { memoryMb: limit(256), diskMb: limit(64), processes: limit(64), timeoutSec: limit(60) },
      },
      languages: ['python'],
    });
  });
  afterAll(() => guest.destroy());

  /** Starts a program, interrupts it at its first output, and says how it ended. */
  async function interrupted(...argv: [string, ...string[]]): Promise<[number, string]> {
    const program = await guest.spawn({
      argv,
      env: guest.environment,
      relay: relayWish({ port: PORT, onConnection: () => {} }),
    });
    let printed = '';
    for await (const chunk of program.stdout) {
      if (printed === '') await program.kill('SIGINT');
      printed += String(chunk);
    }
    return [(await program.exit).code, printed];
  }

  it('reaches the program', async () => {
    const script = `
import time
try:
    print('ready', flush=True)
    time.sleep(30)
except KeyboardInterrupt: print('interrupted')`;
    expect(await interrupted(PYTHON, '-c', script)).toEqual([0, 'ready\ninterrupted\n']);
  });

  it('reaches what it started: a shell gives up with the command that it waits for', async () => {
    // Said by the command itself: an interrupt while a process is being made may reach its parent alone.
    const script = 'sh -c "echo ready; exec sleep 30"; echo after';
    expect(await interrupted('/bin/sh', '-c', script)).toEqual([130, 'ready\n']);
  });

  it('reaches what it started in a session of its own', async () => {
    const child = `
import time
try: time.sleep(30)
except KeyboardInterrupt: print('child', flush=True)`;
    const script = `
import subprocess, sys, time
child = subprocess.Popen([sys.executable, '-c', ${JSON.stringify(child)}], start_new_session=True)
time.sleep(1)
try:
    print('ready', flush=True)
    child.wait()
except KeyboardInterrupt:
    child.wait()
    print('parent')`;
    expect(await interrupted(PYTHON, '-c', script)).toEqual([0, 'ready\nchild\nparent\n']);
  });
});
