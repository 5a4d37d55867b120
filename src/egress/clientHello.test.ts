import { duplexPair } from 'node:stream';
import { type ConnectionOptions, connect } from 'node:tls';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClientHello, ClientHelloReader, LONGEST_HELLO, looksLikeTls } from './clientHello.ts';

/** The hello that Node's OpenSSL sends. */
async function realHello(options: ConnectionOptions): Promise<Buffer> {
  const [inside, outside] = duplexPair();
  const client = connect({ socket: inside, ...options });
  client.on('error', () => {});
  const hello = await new Promise<Buffer>((resolve) => outside.once('data', resolve));
  client.destroy();
  return hello;
}

/** The same message in records of so many bytes. */
function recut(hello: Buffer, bytes: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += bytes) {
    const part = message.subarray(at, at + bytes);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(records);
}

function readClientHello(bytes: Buffer): ClientHello | undefined {
  return new ClientHelloReader().read(bytes);
}

/** Reads it in pieces of so many bytes. */
function readInPieces(bytes: Buffer, size: number): ClientHello | undefined {
  const reader = new ClientHelloReader();
  for (let at = 0; at < bytes.length; at += size) {
    const hello = reader.read(bytes.subarray(at, at + size));
    if (hello !== undefined) return hello;
  }
  return undefined;
}

describe('the hello of a real client', () => {
  it.each([
    ['TLS 1.3', {}],
    ['TLS 1.2', { maxVersion: 'TLSv1.2' }],
    ['much to say', { ALPNProtocols: Array.from({ length: 50 }, (_, index) => `protocol-${index}`) }],
  ] as [string, ConnectionOptions][])('of %s is read, however it is cut', async (_what, options) => {
    const hello = await realHello({ servername: 'a.test', ...options });
    const expected = { names: ['a.test'], hidden: false };
    expect(readClientHello(hello)).toEqual(expected);
    for (const bytes of [1, 2, 3, 7, 100, 16_384]) {
      for (const size of [1, 3, 100, 16_384]) {
        expect(readInPieces(recut(hello, bytes), size)).toEqual(expected);
      }
    }
  });

  it('has no name where the client gives none', async () => {
    expect(readClientHello(await realHello({}))).toEqual({ names: [], hidden: false });
  });

  it('is read alike with what follows it', async () => {
    const hello = await realHello({ servername: 'a.test' });
    const more = Buffer.concat([hello, Buffer.from([20, 3, 3, 0, 1, 1]), hello]);
    expect(readClientHello(more)).toEqual(readClientHello(hello));
  });
});

describe('any bytes', () => {
  it('are read without an error, and never a name from beyond the end', async () => {
    const hello = await realHello({ servername: 'a.test' });
    const changed = fc
      .array(fc.tuple(fc.nat(hello.length - 1), fc.nat(255)), { maxLength: 6 })
      .map((changes) => {
        const bytes = Buffer.from(hello);
        for (const [at, value] of changes) bytes[at] = value;
        return bytes;
      });
    const random = fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from([22, 3, 1, ...bytes]));
    fc.assert(
      fc.property(fc.oneof(changed, random), fc.integer({ min: 1, max: 600 }), (bytes, size) => {
        expect(readInPieces(bytes, size)).toEqual(readClientHello(bytes));
      }),
      { numRuns: 20_000 },
    );
  });

  it('are TLS only when they begin so', () => {
    expect(looksLikeTls(Buffer.from([22, 3]))).toBe(true);
    expect(looksLikeTls(Buffer.from([22]))).toBe(true);
    for (const bytes of [[], [22, 2], [23, 3], [71, 69], [0x80, 0x2e]]) {
      expect(looksLikeTls(Buffer.from(bytes))).toBe(false);
    }
  });

  it('are not collected without an end', () => {
    const begin = Buffer.from([22, 3, 1, 0, 4, 1, 0, 127, 240]);
    const record = Buffer.concat([Buffer.from([22, 3, 1, 4, 0]), Buffer.alloc(1024)]);
    const reader = new ClientHelloReader();
    let given = begin.length;
    for (let hello = reader.read(begin); hello === undefined; hello = reader.read(record))
      given += record.length;
    expect(given).toBeLessThanOrEqual(LONGEST_HELLO + record.length);
  });

  it('cost the same each, in as many records as one likes', () => {
    const begin = Buffer.from([22, 3, 1, 0, 4, 1, 0, 127, 240]);
    const bytes = Buffer.concat([
      begin,
      ...Array.from({ length: 5400 }, () => Buffer.from([22, 3, 1, 0, 1, 0])),
    ]);
    const before = process.cpuUsage();
    for (let round = 0; round < 20; round += 1) expect(readInPieces(bytes, 1)).toBeUndefined();
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6 / 20).toBeLessThan(0.2);
  });
});
