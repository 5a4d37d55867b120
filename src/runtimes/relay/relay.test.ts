import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../../tests/support/eventually.ts';
import {
  CREDIT,
  DATA,
  END,
  frame,
  HELLO,
  number,
  OPEN,
  OPENED,
  REFUSED,
  RESET,
} from '../../../tests/support/relayFrames.ts';
import { freePort, NO_RELAY, type RelayChild, RelayFolder } from '../../../tests/support/relayProcess.ts';
import { seccompFilter } from '../host/seccomp/filter.ts';
import { SOURCE_SHA256 } from './programs.ts';
import { relayProgram } from './relay.ts';

it('is built from the source that is here', () => {
  const sources = ['../systemCall.h', '../freestanding.h', 'relay.c'].map((name) =>
    readFileSync(new URL(name, import.meta.url)),
  );
  expect(createHash('sha256').update(Buffer.concat(sources)).digest('hex')).toBe(SOURCE_SHA256);
});

it('exists exactly where there is a seccomp filter for programs', () => {
  for (const machine of ['x64', 'arm64', 'ia32', 'riscv64', 'toString'] as const) {
    expect(relayProgram(machine) === undefined).toBe(
      seccompFilter(machine as NodeJS.Architecture) === undefined,
    );
  }
});

const HELLO_FRAME = '01 00000000 01000000 01';
const [TO_RELAY, TO_HOST, MOST] = [256 * 1024, 64 * 1024, 32 * 1024];

function port(value: number): Buffer {
  return number(value).subarray(0, 2);
}

interface Said {
  readonly type: number;
  readonly id: number;
  readonly payload: Buffer;
}

/** What it says, frame by frame. */
async function* frames(output: Readable): AsyncGenerator<Said> {
  let left = Buffer.alloc(0);
  for await (const chunk of output as AsyncIterable<Buffer>) {
    left = Buffer.concat([left, chunk]);
    while (left.length >= 9 && left.length >= 9 + left.readUInt32LE(5)) {
      const end = 9 + left.readUInt32LE(5);
      yield { type: left.readUInt8(0), id: left.readUInt32LE(1), payload: left.subarray(9, end) };
      left = left.subarray(end);
    }
  }
}

describe.skipIf(NO_RELAY)(`the relay${NO_RELAY ? ` (skipped: ${NO_RELAY})` : ''}`, () => {
  let relays: RelayFolder;
  beforeAll(() => {
    relays = new RelayFolder();
  });
  afterAll(() => relays.close());

  /** One that listens and has said so. */
  async function started(through: readonly string[] = []) {
    const listens = await freePort();
    const child = relays.start(String(listens), through);
    const said = frames(child.stdout);
    const next = async (): Promise<Said> => {
      const { value, done } = await said.next();
      if (done) throw new Error('It ended.');
      return value;
    };
    expect(await next()).toMatchObject({ type: HELLO, id: 0, payload: Buffer.of(1) });
    return { child, next, listens, dial: () => dial(listens) };
  }

  async function ended(child: RelayChild): Promise<[number | null, string]> {
    const [[code], said] = await Promise.all([once(child, 'exit'), text(child.stderr)]);
    return [code, said];
  }

  it('says first that it is ready, and ends with its standard input', async () => {
    const child = relays.start('0');
    child.stdin.end();
    const [said, [code, complaint]] = await Promise.all([buffer(child.stdout), ended(child)]);
    expect([said.toString('hex'), code, complaint]).toEqual([HELLO_FRAME.replaceAll(' ', ''), 0, '']);
  });

  it.each(['', '-1', '65536', '80a', '99999999999999999999'])('refuses the port %j', async (argument) => {
    expect(await ended(relays.start(argument))).toEqual([2, 'relay: its argument must be a port\n']);
  });

  it.each(['0<&-', '1>&-', '0<&- 1>&- 2>&-'])('does not start with a closed stream: %s', async (closed) => {
    const { status } = spawnSync('/bin/sh', ['-c', `exec "$0" 0 ${closed}`, relays.file]);
    expect(status).toBe(2);
  });

  it('tells why it cannot listen', async () => {
    const { listens } = await started();
    expect(await ended(relays.start(String(listens)))).toEqual([
      3,
      'relay: cannot listen on 127.0.0.1, error 98\n',
    ]);
  });

  it('closes its standard error when it is ready', async () => {
    const { child } = await started();
    expect(await text(child.stderr)).toBe('');
    expect(child.exitCode).toBeNull();
  });

  it('listens again at once where one before it ended with connections', async () => {
    const { child, listens, next, dial } = await started();
    const socket = await dial();
    expect(await next()).toMatchObject({ type: OPEN, id: 1 });
    child.stdin.end();
    await once(child, 'exit');
    await closed(socket);
    const again = relays.start(String(listens));
    expect((await once(again.stdout, 'data')).toString()).toBe(
      Buffer.from(HELLO_FRAME.replaceAll(' ', ''), 'hex').toString(),
    );
  });

  it('ends when nobody takes what it says', async () => {
    const { child } = await started();
    child.stdout.destroy();
    expect(await once(child, 'exit')).toEqual([5, null]);
  });

  it('carries what is said both ways, with half-closes', async () => {
    const { child, next, dial } = await started();
    const socket = await dial();
    expect(await next()).toEqual({ type: OPEN, id: 1, payload: Buffer.alloc(0) });
    socket.end('question');
    expect(await next()).toEqual({ type: DATA, id: 1, payload: Buffer.from('question') });
    expect(await next()).toMatchObject({ type: END, id: 1 });
    child.stdin.write(Buffer.concat([frame(DATA, 1, Buffer.from('answer')), frame(END, 1)]));
    expect(await text(socket)).toBe('answer');
    expect(await next()).toMatchObject({ type: RESET, id: 1 });
    // The number is taken again once we have said our last word too, and not before.
    await dial();
    expect(await next()).toMatchObject({ type: OPEN, id: 3 });
    child.stdin.write(frame(RESET, 1));
    await eventually('the number 1 is taken again', async () => {
      await dial();
      return (await next()).id === 1;
    });
  });

  it('takes frames in pieces of one byte', async () => {
    const { child, next, dial } = await started();
    const socket = await dial();
    await next();
    for (const byte of Buffer.concat([frame(DATA, 1, Buffer.from('piece')), frame(END, 1)])) {
      child.stdin.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await text(socket)).toBe('piece');
  });

  it('sends no more than its window and goes on with credit', async () => {
    const { child, next, dial } = await started();
    const socket = await dial();
    await next();
    const sent = Buffer.alloc(190_000, 'abc');
    socket.end(sent);
    const got: Buffer[] = [];
    const length = (): number => got.reduce((sum, { length }) => sum + length, 0);
    while (length() < TO_HOST) got.push((await next()).payload);
    expect(length()).toBe(TO_HOST);
    // Nothing more may come: the answer to a question that was asked later comes first.
    child.stdin.write(frame(OPEN, 2, port(1)));
    expect(await next()).toMatchObject({ type: REFUSED, id: 2 });
    child.stdin.write(frame(CREDIT, 1, number(10)));
    got.push((await next()).payload);
    expect(length()).toBe(TO_HOST + 10);
    child.stdin.write(frame(CREDIT, 1, number(TO_HOST)));
    while (length() < 2 * TO_HOST + 10) got.push((await next()).payload);
    child.stdin.write(frame(CREDIT, 1, number(TO_HOST)));
    while (length() < sent.length) got.push((await next()).payload);
    expect(Buffer.concat(got).equals(sent)).toBe(true);
  });

  it('keeps a whole window for a program that does not read, and gives it back when it does', async () => {
    const { child, next, dial } = await started();
    const socket = await dial();
    await next();
    socket.pause();
    const data = Buffer.alloc(MOST, 'x');
    let sent = 0;
    // Until the sockets between are full: then a window more is taken, and no credit for it is given.
    const isCredit = async (): Promise<boolean> => {
      child.stdin.write(frame(OPEN, 2, port(1)));
      for (let credit = false; ; ) {
        const said = await next();
        if (said.type === CREDIT) {
          credit = true;
          window += said.payload.readUInt32LE();
        }
        if (said.type === REFUSED) {
          child.stdin.write(frame(RESET, 2));
          return credit;
        }
      }
    };
    let window = TO_RELAY;
    do {
      while (window >= data.length) {
        child.stdin.write(frame(DATA, 1, data));
        window -= data.length;
        sent += data.length;
      }
    } while (await isCredit());
    if (window > 0) child.stdin.write(frame(DATA, 1, data.subarray(0, window)));
    sent += window;
    const kept = residentKb(child);
    expect(kept).toBeGreaterThan(TO_RELAY / 1024 / 2);
    let got = 0;
    socket.on('data', (chunk: Buffer) => {
      got += chunk.length;
    });
    child.stdin.write(frame(END, 1));
    socket.resume();
    await once(socket, 'end');
    expect(got).toBe(sent);
    expect(residentKb(child)).toBeLessThan(kept - TO_RELAY / 1024 / 2);
  });

  it('connects to a port inside', async () => {
    const { child, next } = await started();
    const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    child.stdin.write(frame(OPEN, 2, port((server.address() as AddressInfo).port)));
    expect(await next()).toMatchObject({ type: OPENED, id: 2 });
    expect(await next()).toEqual({ type: DATA, id: 2, payload: Buffer.from('hello') });
    expect(await next()).toMatchObject({ type: END, id: 2 });
    child.stdin.write(frame(END, 2));
    expect(await next()).toMatchObject({ type: RESET, id: 2 });
    server.close();
  });

  it('tells that a port is closed', async () => {
    const { child, next } = await started();
    child.stdin.write(frame(OPEN, 128, port(await freePort())));
    expect(await next()).toEqual({ type: REFUSED, id: 128, payload: number(111) });
  });

  it('breaks a connection off when it is told to, and tells when a program does', async () => {
    const { child, next, dial } = await started();
    const [first, second] = [await dial(), await dial()];
    await next();
    await next();
    child.stdin.write(frame(RESET, 1));
    expect(await next()).toMatchObject({ type: RESET, id: 1 });
    expect((await closed(first))?.code).toBe('ECONNRESET');
    second.resetAndDestroy();
    expect(await next()).toMatchObject({ type: RESET, id: 3 });
  });

  it('lets nobody starve: a table full of idle connections, and more that wait', async () => {
    const { child, next, listens } = await started();
    const sockets = Array.from({ length: 300 }, () => connect(listens, '127.0.0.1'));
    for (const socket of sockets) socket.on('error', () => {});
    const ids = new Set<number>();
    while (ids.size < 256) ids.add((await next()).id);
    expect([Math.min(...ids), Math.max(...ids)]).toEqual([1, 511]);
    child.stdin.write(frame(OPEN, 2, port(1)));
    expect(await next()).toMatchObject({ type: REFUSED });
    expect(await idleShare(child)).toBeLessThan(0.05);
    // One place becomes free, and is taken.
    child.stdin.write(frame(RESET, 1));
    expect(await next()).toMatchObject({ type: RESET, id: 1 });
    expect(await next()).toMatchObject({ type: OPEN, id: 1 });
    for (const socket of sockets) socket.destroy();
  });

  it('does not spin without descriptors, and lets in who waits when there are some', async () => {
    const { child, next, listens } = await started(['/bin/sh', '-c', 'ulimit -n 8; exec "$0" "$1"']);
    const sockets = Array.from({ length: 20 }, () => connect(listens, '127.0.0.1'));
    for (const socket of sockets) socket.on('error', () => {});
    // Two streams, the listener and the signals are four.
    for (let count = 0; count < 4; count++) expect((await next()).type).toBe(OPEN);
    child.stdin.write(frame(OPEN, 2, port(1)));
    expect(await next()).toEqual({ type: REFUSED, id: 2, payload: number(24) });
    expect(await idleShare(child)).toBeLessThan(0.05);
    child.stdin.write(frame(RESET, 1));
    expect(await next()).toMatchObject({ type: RESET, id: 1 });
    expect(await next()).toMatchObject({ type: OPEN, id: 1 });
    for (const socket of sockets) socket.destroy();
  });

  it('outlives thousands of connections that come and go', async () => {
    const { child, next, dial } = await started();
    let broken = 0;
    const answering = (async () => {
      while (broken < 3000) {
        const { type, id } = await next();
        if (type === END)
          child.stdin.write(Buffer.concat([frame(DATA, id, Buffer.from('late')), frame(END, id)]));
        if (type === RESET) {
          broken += 1;
          child.stdin.write(frame(RESET, id));
        }
      }
    })();
    const before = residentKb(child);
    for (let round = 0; round < 30; round++) {
      const sockets = await Promise.all(Array.from({ length: 100 }, dial));
      for (const [index, socket] of sockets.entries()) {
        if (index % 2 === 0) socket.destroy();
        else socket.resetAndDestroy();
      }
    }
    await answering;
    expect(residentKb(child)).toBeLessThan(before + 1024);
    const socket = await dial();
    expect(await next()).toMatchObject({ type: OPEN, id: 1 });
    socket.destroy();
  });

  it('carries what was sent before it is told to end', async () => {
    const { child, next, dial } = await started();
    const [first, second] = [await dial(), await dial()];
    // More than a window.
    first.end(Buffer.alloc(TO_HOST + 5000, 'x'));
    second.write('last ');
    await next();
    child.kill('SIGTERM');
    const lengths = [0, 0];
    let ends = 0;
    try {
      for (;;) {
        const { type, id, payload } = await next();
        if (type === DATA) {
          const index = (id - 1) / 2;
          lengths[index] = (lengths[index] ?? 0) + payload.length;
          if (index === 0 && lengths[0] === TO_HOST) child.stdin.write(frame(CREDIT, 1, number(6000)));
        }
        // Whoever is still connected may go on.
        if (type === END && ++ends === 1) second.end('words');
      }
    } catch {}
    expect([lengths, ends, await exitOf(child)]).toEqual([[TO_HOST + 5000, 10], 2, 0]);
    await Promise.all([closed(first), closed(second)]);
  });

  it('ends at once when it is told to and nobody is connected', async () => {
    const { child } = await started();
    child.kill('SIGTERM');
    expect(await exitOf(child)).toBe(0);
  });

  it('is not ended by an interrupt or another signal', async () => {
    const { child, next, dial } = await started();
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGPIPE', 'SIGUSR1'] as const) child.kill(signal);
    const socket = await dial();
    expect(await next()).toMatchObject({ type: OPEN });
    socket.destroy();
  });

  it('is closed to others of its own user', async () => {
    const user = process.getuid?.() === 0 ? { uid: 4242, gid: 4242 } : {};
    const ids = Object.entries(user).map(([name, id]) => `--re${name}=${id}`);
    const { child } = await started(ids.length === 0 ? [] : ['setpriv', ...ids, '--clear-groups']);
    const canLook = async (pid: number | undefined): Promise<boolean> => {
      const looking = spawn('/bin/ls', [`/proc/${pid}/fd`], { stdio: 'ignore', ...user });
      const [code] = await once(looking, 'exit');
      return code === 0;
    };
    const other = spawn('/bin/sleep', ['30'], { stdio: 'ignore', ...user });
    expect([await canLook(other.pid), await canLook(child.pid)]).toEqual([true, false]);
    other.kill();
    await once(other, 'exit');
  });

  it.each<[string, Buffer]>([
    ['an unknown type', frame(9, 1)],
    ['type 0', frame(0, 1)],
    ['a frame that is too long', frame(DATA, 1, Buffer.alloc(MOST + 1))],
    ['the longest of all lengths', Buffer.from('0501000000ffffffff', 'hex')],
    ['data for nobody', frame(DATA, 3, Buffer.of(1))],
    ['data for no number at all', frame(DATA, 0, Buffer.of(1))],
    ['data for a number beyond the table', frame(DATA, 513, Buffer.of(1))],
    ['data for the greatest number', frame(DATA, 0xffff_ffff, Buffer.of(1))],
    ['no data', frame(DATA, 1)],
    ['a hello', frame(HELLO, 0, Buffer.of(1))],
    ['an answer', frame(OPENED, 1)],
    ['no credit', frame(CREDIT, 1, number(0))],
    ['too much credit', frame(CREDIT, 1, number(1))],
    ['far too much credit', frame(CREDIT, 1, number(0xffff_ffff))],
    ['short credit', frame(CREDIT, 1, Buffer.of(1))],
    ['two ends', Buffer.concat([frame(END, 1), frame(END, 1)])],
    ['data after the end', Buffer.concat([frame(END, 1), frame(DATA, 1, Buffer.of(1))])],
    ['an end with data', frame(END, 1, Buffer.of(1))],
    ['something after the last word', Buffer.concat([frame(RESET, 1), frame(RESET, 1)])],
    ['a connection with an odd number', frame(OPEN, 5, port(80))],
    ['a connection with the number 0', frame(OPEN, 0, port(80))],
    ['a connection beyond the table', frame(OPEN, 130, port(80))],
    ['a connection to port 0', frame(OPEN, 2, port(0))],
    ['a connection twice', Buffer.concat([frame(OPEN, 2, port(1)), frame(OPEN, 2, port(1))])],
  ])('leaves when it hears what we never say: %s', async (_, bytes) => {
    const { child, next, dial } = await started();
    await dial();
    await next();
    child.stdout.resume();
    child.stdin.write(bytes);
    expect(await ended(child)).toEqual([4, '']);
  });

  it('leaves when data goes beyond the window', async () => {
    const { child, next, dial } = await started();
    const socket = await dial();
    await next();
    socket.pause();
    child.stdout.resume();
    // So much that the sockets between cannot take it either.
    for (let index = 0; index < 1024; index++) child.stdin.write(frame(DATA, 1, Buffer.alloc(MOST)));
    expect((await ended(child))[0]).toBe(4);
  });

  it('survives or leaves, whatever it hears, and never hangs', async () => {
    const chunk = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .tuple(
          fc.integer({ min: 0, max: 9 }),
          fc.integer({ min: 0, max: 6 }),
          fc.uint8Array({ maxLength: 9 }),
        )
        .map(([type, id, payload]) => frame(type, id, payload)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(chunk, { maxLength: 20 }), async (chunks) => {
        const child = relays.start('0');
        child.stdout.resume();
        child.stderr.resume();
        child.stdin.end(Buffer.concat(chunks));
        const [code, signal] = await once(child, 'exit');
        expect(signal).toBeNull();
        expect([0, 4]).toContain(code);
      }),
      { numRuns: 60 },
    );
  });
});

async function dial(to: number): Promise<Socket> {
  const socket = connect({ port: to, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  socket.on('error', () => {});
  return socket;
}

/** Resolves when a socket is closed, to why. */
async function closed(socket: Socket): Promise<NodeJS.ErrnoException | undefined> {
  socket.resume();
  socket.once('end', () => socket.destroy());
  if (socket.readableEnded) socket.destroy();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return socket.errored ?? undefined;
}

async function exitOf(child: RelayChild): Promise<number | null> {
  if (child.exitCode === null) await once(child, 'exit');
  return child.exitCode;
}

function residentKb({ pid }: RelayChild): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** The share of a processor that it uses while nothing happens. */
async function idleShare({ pid }: RelayChild): Promise<number> {
  const usedMs = (): number =>
    Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000_000;
  const [used, startedAt] = [usedMs(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, 300));
  return (usedMs() - used) / (performance.now() - startedAt);
}
