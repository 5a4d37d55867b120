import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Duplex, PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../tests/support/eventually.ts';
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
} from '../../tests/support/relayFrames.ts';
import { freePort, NO_RELAY, type RelayChild, RelayFolder } from '../../tests/support/relayProcess.ts';
import { isSandboxError } from '../errors.ts';
import type { Relay } from '../runtimes/runtime.ts';
import { relayWish } from './relayChannel.ts';

const [TO_RELAY, TO_HOST, MOST] = [256 * 1024, 64 * 1024, 32 * 1024];

describe.skipIf(NO_RELAY)(`a channel to a relay${NO_RELAY ? ` (skipped: ${NO_RELAY})` : ''}`, () => {
  let relays: RelayFolder;
  beforeEach(() => {
    relays = new RelayFolder();
  });
  afterEach(() => relays.close());

  async function attached(
    onConnection: (connection: Duplex) => void = () => {},
    through: readonly string[] = [],
  ): Promise<{ relay: Relay; child: RelayChild; dial: () => Socket }> {
    const port = await freePort();
    const child = relays.start(String(port), through);
    const relay = await relayWish({ port, onConnection }).attach({
      input: child.stdin,
      output: child.stdout,
    });
    const dial = (): Socket => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => {});
      return socket;
    };
    return { relay, child, dial };
  }

  it('carries what is said both ways, with half-closes', async () => {
    const { relay, child, dial } = await attached((connection) => {
      connection.write('hello ');
      const heard: Buffer[] = [];
      connection.on('data', (chunk) => heard.push(chunk));
      connection.on('end', () => connection.end(Buffer.concat(heard)));
    });
    const socket = dial();
    socket.end('world');
    expect(await text(socket)).toBe('hello world');
    relay.close();
    await relay.closed;
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('carries 64 MB each way at the same time, and every byte of it', async () => {
    const [size, piece] = [64 * 1024 * 1024, 100_000];
    const digest = async (stream: Duplex): Promise<string> => {
      const hash = createHash('sha256');
      stream.on('data', (chunk) => hash.update(chunk));
      await once(stream, 'end');
      return hash.digest('hex');
    };
    const send = async (stream: Duplex, salt: number): Promise<string> => {
      const hash = createHash('sha256');
      for (let at = 0; at < size; at += piece) {
        const data = Buffer.alloc(Math.min(piece, size - at), `${salt}:${at}`);
        hash.update(data);
        if (!stream.write(data)) await once(stream, 'drain');
      }
      stream.end();
      return hash.digest('hex');
    };
    let ours: Promise<string[]> | undefined;
    const { dial } = await attached((connection) => {
      ours = Promise.all([send(connection, 1), digest(connection)]);
    });
    const socket = dial();
    const [sent, got] = await Promise.all([send(socket, 2), digest(socket)]);
    expect(await ours).toEqual([got, sent]);
  });

  it('carries more connections at once than the relay has room for: the others wait', async () => {
    let open = 0;
    let most = 0;
    const { dial } = await attached((connection) => {
      most = Math.max(most, ++open);
      connection.once('close', () => {
        open -= 1;
      });
      connection.pipe(connection);
    });
    const answers = Array.from({ length: 300 }, async (_, index) => {
      const socket = dial();
      socket.write(`${index}:`);
      await once(socket, 'readable');
      socket.end('end');
      return text(socket);
    });
    expect(await Promise.all(answers)).toEqual(answers.map((_, index) => `${index}:end`));
    expect([most <= 256, most > 200, open]).toEqual([true, true, 0]);
  });

  it('does not let one that reads slowly hold up the others, nor take memory', async () => {
    const connections: Duplex[] = [];
    const { child, dial } = await attached((connection) => {
      connections.push(connection);
    });
    const before = residentKb(child);
    const slow = Array.from({ length: 20 }, dial);
    for (const socket of slow) socket.pause();
    await eventually('all are connected', () => connections.length === slow.length);
    for (const connection of connections) connection.write(Buffer.alloc(16 * 1024 * 1024));
    const fast = dial();
    await eventually('one more is connected', () => connections.length > slow.length);
    const sent = Buffer.alloc(8 * 1024 * 1024, 'fast');
    connections.at(-1)?.end(sent);
    expect((await text(fast)).length).toBe(sent.length);
    expect(residentKb(child) - before).toBeLessThan((slow.length + 1) * (TO_RELAY / 1024) + 1024);
    for (const socket of slow) socket.destroy();
  });

  it('does not let one that nobody reads here hold up the others, nor take memory', async () => {
    const connections: Duplex[] = [];
    const { dial } = await attached((connection) => {
      connections.push(connection);
    });
    const ignored = dial();
    await once(ignored, 'connect');
    await eventually('it is connected', () => connections.length === 1);
    ignored.write(Buffer.alloc(32 * 1024 * 1024));
    const heard = dial();
    heard.end('heard');
    await eventually('one more is connected', () => connections.length === 2);
    expect(await text(connections[1] as Duplex)).toBe('heard');
    expect(connections[0]?.readableLength).toBeLessThanOrEqual(TO_HOST);
    ignored.destroy();
  });

  it('tells both sides when the other breaks a connection', async () => {
    const connections: Duplex[] = [];
    const { dial } = await attached((connection) => connections.push(connection));
    const [first, second] = [dial(), dial()];
    await eventually('both are connected', () => connections.length === 2);
    first.resetAndDestroy();
    const broken = await Promise.race(connections.map((connection) => failure(connection)));
    expect(broken?.code).toBe('ECONNRESET');
    connections.find(({ destroyed }) => !destroyed)?.destroy();
    expect((await failure(second))?.code).toBe('ECONNRESET');
  });

  it('connects to ports inside', async () => {
    const { relay } = await attached();
    const server = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const answers = Array.from({ length: 50 }, async (_, index) => {
      const connection = await relay.connect(port);
      connection.end(`question ${index}`);
      return text(connection);
    });
    expect(await Promise.all(answers)).toEqual(answers.map((_, index) => `question ${index}`));
    server.close();
  });

  it('tells that nobody listens, however often', async () => {
    const { relay } = await attached();
    const port = await freePort();
    for (let round = 0; round < 200; round++) {
      await expect(relay.connect(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    }
    for (const wrong of [0, 65_536, 1.5, Number.NaN]) {
      await expect(relay.connect(wrong)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    }
  });

  it('makes no more connections to ports inside than the relay has room for', async () => {
    const { relay } = await attached();
    const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const open = await Promise.all(Array.from({ length: 64 }, () => relay.connect(port)));
    await expect(relay.connect(port)).rejects.toMatchObject({ code: 'EAGAIN' });
    open[0]?.destroy();
    await eventually('a place is free again', () =>
      relay.connect(port).then(
        () => true,
        () => false,
      ),
    );
    relay.close();
    await relay.closed;
    server.close();
  });

  it('works with few descriptors: who finds none waits', async () => {
    const { relay, dial } = await attached(
      (connection) => connection.pipe(connection),
      ['/bin/sh', '-c', 'ulimit -n 10; exec "$0" "$1"'],
    );
    const answers = Array.from({ length: 40 }, (_, index) => {
      const socket = dial();
      socket.end(String(index));
      return text(socket);
    });
    expect(await Promise.all(answers)).toEqual(answers.map((_, index) => String(index)));
    await expect(relay.connect(await freePort())).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('ends all that it carried when the relay is killed', async () => {
    const connections: Duplex[] = [];
    const { relay, child, dial } = await attached((connection) => connections.push(connection));
    const sockets = [dial(), dial()];
    await eventually('both are connected', () => connections.length === 2);
    const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const asked = await relay.connect((server.address() as AddressInfo).port);
    child.kill('SIGKILL');
    await relay.closed;
    const codes = [...connections, asked].map(({ destroyed, errored }) => [destroyed, codeOf(errored)]);
    expect(codes).toEqual(codes.map(() => [true, 'ECONNRESET']));
    await expect(relay.connect(80)).rejects.toMatchObject({ code: 'ECONNRESET' });
    relay.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it('survives a taker that throws', async () => {
    let count = 0;
    const { relay, dial } = await attached((connection) => {
      if (count++ === 0) throw new Error('not this one');
      connection.end('but this one');
    });
    expect((await failure(dial()))?.code).toBe('ECONNRESET');
    expect(await text(dial())).toBe('but this one');
    relay.close();
  });

  it('does not listen where no port was wished', async () => {
    const child = relays.start('0');
    const taken: Duplex[] = [];
    const relay = await relayWish({ port: 0, onConnection: (one) => taken.push(one) }).attach({
      input: child.stdin,
      output: child.stdout,
    });
    await expect(relay.connect(await freePort())).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    relay.close();
    await once(child, 'exit');
    expect(taken).toEqual([]);
  });

  it('rejects a relay that ends, and tells of one that cannot listen', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const child = relays.start(String(port));
    const attaching = relayWish({ port, onConnection: () => {} }).attach({
      input: child.stdin,
      output: child.stdout,
    });
    await expect(attaching).rejects.toThrow("The relay into the sandbox's network did not start: it ended.");
    server.close();
  });
});

/** A relay that says what the test wants. */
class Forged {
  readonly input: Writable;
  readonly output = new PassThrough();
  readonly connections: Duplex[] = [];
  readonly heard: Buffer[] = [];

  constructor({ listens = true }: { readonly listens?: boolean } = {}) {
    const { heard } = this;
    this.input = new Writable({
      write(chunk, _encoding, done) {
        heard.push(chunk);
        if (listens) done();
      },
    });
  }

  attach(helloDeadlineSec = 5): Promise<Relay> {
    const onConnection = (connection: Duplex): void => {
      this.connections.push(connection);
    };
    return relayWish({ port: 3128, onConnection, helloDeadlineSec }).attach(this);
  }

  /** One that has said that it is ready, and that a program has made a connection. */
  async greeted(): Promise<Relay> {
    this.output.write(Buffer.concat([frame(1, 0, Buffer.of(1)), frame(2, 1)]));
    const relay = await this.attach();
    await eventually('there is a connection', () => this.connections.length === 1);
    return relay;
  }
}

describe('a channel to a relay that lies', () => {
  it.each<[string, Uint8Array[]]>([
    ['nothing but an end', []],
    ['something else first', [frame(OPEN, 1)]],
    ['another version', [frame(HELLO, 0, Buffer.of(2))]],
    ['a hello of a connection', [frame(HELLO, 1, Buffer.of(1))]],
    ['words', [Buffer.from('exec /relay: no such file or directory\n')]],
  ])('rejects it: %s', async (_, said) => {
    const forged = new Forged();
    for (const bytes of said) forged.output.write(bytes);
    forged.output.end();
    await expect(forged.attach()).rejects.toSatisfy(
      (error) => isSandboxError(error) && error.code === 'SANDBOX_FAILED',
    );
    expect([forged.input.destroyed, forged.output.destroyed]).toEqual([true, true]);
  });

  it('rejects one that says nothing in time', async () => {
    const forged = new Forged();
    await expect(forged.attach(0.05)).rejects.toThrow('it said nothing for 0.05 s');
    expect([forged.input.destroyed, forged.output.destroyed]).toEqual([true, true]);
  });

  it.each<[string, Buffer]>([
    ['an unknown type', frame(9, 1)],
    ['a second hello', frame(HELLO, 0, Buffer.of(1))],
    ['a frame that is too long', frame(DATA, 1, Buffer.alloc(MOST + 1))],
    ['data beyond the window', frames(3, () => frame(DATA, 1, Buffer.alloc(MOST)))],
    ['data for a connection that there is not', frame(DATA, 3, Buffer.of(1))],
    ['data for an even number', frame(DATA, 2, Buffer.of(1))],
    ['data after the end', Buffer.concat([frame(END, 1), frame(DATA, 1, Buffer.of(1))])],
    ['a second end', Buffer.concat([frame(END, 1), frame(END, 1)])],
    ['an end of nothing', frame(END, 0)],
    ['a connection with a number that is taken', frame(OPEN, 1)],
    ['a connection with an even number', frame(OPEN, 2)],
    ['a connection with the number 0', frame(OPEN, 0)],
    ['more connections than there can be', frames(256, (index) => frame(OPEN, 2 * index + 3))],
    ['credit that we never used', frame(CREDIT, 1, number(1))],
    ['no credit', frame(CREDIT, 1, number(0))],
    ['the greatest credit', frame(CREDIT, 1, number(0xffff_ffff))],
    ['credit for nobody', frame(CREDIT, 5, number(1))],
    ['an answer that nobody waits for', frame(OPENED, 2)],
    ['an answer for its own connection', frame(OPENED, 1)],
    ['a refusal that nobody waits for', frame(REFUSED, 1, number(111))],
    ['a last word for nobody', frame(RESET, 7)],
  ])('ends it with all its connections: %s', async (_, said) => {
    const forged = new Forged();
    const relay = await forged.greeted();
    forged.output.write(said);
    await relay.closed;
    expect(forged.connections.map(({ destroyed }) => destroyed)).toEqual(forged.connections.map(() => true));
    expect([forged.input.destroyed, forged.output.destroyed]).toEqual([true, true]);
    await expect(relay.connect(1)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it.each<[string, (id: number) => Buffer]>([
    ['data before the answer', (id) => frame(DATA, id, Buffer.of(1))],
    ['an end before the answer', (id) => frame(END, id)],
    ['two answers', (id) => Buffer.concat([frame(OPENED, id), frame(OPENED, id)])],
    ['a refusal after the answer', (id) => Buffer.concat([frame(OPENED, id), frame(REFUSED, id, number(1))])],
  ])('ends it where we asked for a connection: %s', async (_, said) => {
    const forged = new Forged();
    const relay = await forged.greeted();
    const asked = relay.connect(80).then(
      (connection) => failure(connection),
      () => {},
    );
    forged.output.write(said(2));
    await relay.closed;
    await asked;
  });

  it('copies what it is given, as the bytes are valid for a moment only', async () => {
    const forged = new Forged();
    const said = Buffer.concat([
      frame(HELLO, 0, Buffer.of(1)),
      frame(OPEN, 1),
      frame(DATA, 1, Buffer.from('abcdefghijklmnopqrstuvwxyz')),
      frame(END, 1),
    ]);
    const one = Buffer.alloc(7);
    const output = {
      async *[Symbol.asyncIterator]() {
        for (let at = 0; at < said.length; at += one.length) {
          yield one.subarray(0, said.copy(one, 0, at));
          one.fill(0xff);
        }
        await once(forged.output, 'close');
      },
      destroy: () => forged.output.destroy(),
    };
    const onConnection = (connection: Duplex): void => {
      forged.connections.push(connection);
    };
    const relay = await relayWish({ port: 1, onConnection }).attach({ input: forged.input, output });
    await eventually('there is a connection', () => forged.connections.length === 1);
    expect(await text(forged.connections[0] as Duplex)).toBe('abcdefghijklmnopqrstuvwxyz');
    relay.close();
  });

  it('ends one that makes us talk and does not listen', async () => {
    const forged = new Forged({ listens: false });
    const relay = await forged.greeted();
    const { stackTraceLimit } = Error;
    onTestFinished(() => {
      Error.stackTraceLimit = stackTraceLimit;
    });
    // Each of the many connections ends with an error, whose stack nobody reads.
    Error.stackTraceLimit = 0;
    const churn = frames(1000, () => Buffer.concat([frame(RESET, 1), frame(OPEN, 1)]));
    // So much is ten times what is kept.
    for (let rounds = 0; rounds < 300 && !forged.output.destroyed; rounds++) {
      if (!forged.output.write(churn)) await Promise.race([once(forged.output, 'drain'), relay.closed]);
    }
    expect(forged.output.destroyed).toBe(true);
    await relay.closed;
  });

  it('still hears what was said by one that hears nothing, and no longer than a moment', async () => {
    const forged = new Forged();
    const relay = await forged.greeted();
    forged.input.destroy();
    forged.output.write(Buffer.concat([frame(DATA, 1, Buffer.from('last words')), frame(END, 1)]));
    expect(await text(forged.connections[0] as Duplex)).toBe('last words');
    await relay.closed;
    expect(forged.output.destroyed).toBe(true);
  });

  it('gives what was sent to its end before the relay ended, and nothing else', async () => {
    const forged = new Forged();
    const relay = await forged.greeted();
    forged.output.end(
      Buffer.concat([
        ...[frame(DATA, 1, Buffer.alloc(MOST, 'a')), frame(DATA, 1, Buffer.alloc(10, 'b')), frame(END, 1)],
        ...[frame(OPEN, 3), frame(DATA, 3, Buffer.from('half')), frame(OPEN, 5), frame(END, 5)],
      ]),
    );
    await relay.closed;
    const [whole, half, empty] = forged.connections as [Duplex, Duplex, Duplex];
    expect([whole, half, empty].map(({ destroyed }) => destroyed)).toEqual([false, true, true]);
    whole.write('an answer that goes nowhere');
    expect((await text(whole)).length).toBe(MOST + 10);
    expect(whole.destroyed).toBe(true);
  });

  it('waits with data for one that does not listen, and does not keep it all', async () => {
    const forged = new Forged({ listens: false });
    const relay = await forged.greeted();
    forged.output.write(frames(99, (index) => frame(OPEN, 2 * index + 3)));
    await eventually('there are a hundred', () => forged.connections.length === 100);
    for (const connection of forged.connections) connection.write(Buffer.alloc(64 * 1024));
    await turn();
    expect(forged.input.writableLength).toBeLessThan(TO_RELAY);
    expect(forged.connections.every(({ writableNeedDrain }) => writableNeedDrain)).toBe(true);
    relay.close();
  });

  it('sends no more than its window, and goes on with credit', async () => {
    const forged = new Forged();
    const relay = await forged.greeted();
    const [connection] = forged.connections;
    const sent = (): number =>
      forged.heard.filter(({ length }) => length > 13).reduce((sum, { length }) => sum + length, 0);
    connection?.write(Buffer.alloc(TO_RELAY + 100));
    await eventually('it has sent a window', () => sent() === TO_RELAY);
    await turn();
    expect(sent()).toBe(TO_RELAY);
    forged.output.write(frame(CREDIT, 1, number(60)));
    await eventually('it has sent more', () => sent() === TO_RELAY + 60);
    forged.output.write(frame(CREDIT, 1, number(TO_RELAY)));
    await eventually('it has sent all', () => sent() === TO_RELAY + 100);
    relay.close();
  });

  it('never throws out of itself and never hangs, whatever it hears', async () => {
    const anything = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .tuple(
          fc.integer({ min: 1, max: 8 }),
          fc.integer({ min: 0, max: 6 }),
          fc.uint8Array({ maxLength: 9 }),
        )
        .map(([type, id, payload]) => frame(type, id, payload)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anything, { maxLength: 20 }), fc.boolean(), async (chunks, asks) => {
        const forged = new Forged();
        const relay = await forged.greeted();
        const asked = asks ? relay.connect(1).catch(() => {}) : undefined;
        for (const connection of forged.connections) {
          connection.resume();
          connection.write('something');
        }
        for (const chunk of chunks) forged.output.write(chunk);
        forged.output.end();
        await relay.closed;
        await asked;
        expect(forged.connections.every(({ destroyed }) => destroyed)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

function frames(count: number, make: (index: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));
}

/** Resolves when a stream is closed, to why. */
async function failure(stream: Duplex): Promise<NodeJS.ErrnoException | undefined> {
  stream.resume();
  stream.on('error', () => {});
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
  return stream.errored ?? undefined;
}

function codeOf(error: Error | null): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

function residentKb({ pid }: RelayChild): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
