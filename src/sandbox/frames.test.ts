import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FrameKind, FrameReader } from './frames.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';

type Heard = string | { kind: string; payload: string | null };

function frame(kind: FrameKind, payload = '', token = TOKEN): Buffer {
  const bytes = Buffer.from(payload);
  return Buffer.concat([
    Buffer.from(`\x1e${token}${kind}${bytes.length.toString(16).padStart(4, '0')}`, 'latin1'),
    bytes,
  ]);
}

/** What is heard of these chunks, neighbouring output joined. */
async function read(chunks: readonly Uint8Array[], maxMessageBytes = 1000): Promise<Heard[]> {
  const heard: Heard[] = [];
  const reader = new FrameReader(maxMessageBytes, {
    output: (bytes) => {
      const text = Buffer.from(bytes).toString('latin1');
      const last = heard.at(-1);
      if (typeof last === 'string') heard[heard.length - 1] = last + text;
      else heard.push(text);
    },
    message: (kind, payload) => {
      heard.push({ kind, payload: payload === null ? null : payload.toString('latin1') });
    },
  });
  reader.expect(TOKEN);
  for (const chunk of chunks) {
    const reused = Buffer.from(chunk);
    await reader.push(reused);
    reused.fill(0);
  }
  await reader.finish();
  return heard;
}

function inPieces(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.slice(i * size, (i + 1) * size),
  );
}

it('takes frames out of the output that they stand in', async () => {
  const stream = Buffer.concat([
    ...[Buffer.from('before'), frame('s'), Buffer.from('a\x1eb'), frame('r', '{"text":"1"}')],
    ...[frame('d', '{}'), Buffer.from('after')],
  ]);
  expect(await read([stream])).toEqual([
    'before',
    { kind: 's', payload: '' },
    'a\x1eb',
    { kind: 'r', payload: '{"text":"1"}' },
    { kind: 'd', payload: '{}' },
    'after',
  ]);
});

it('puts a message together that came in parts, with output between them', async () => {
  const stream = Buffer.concat([frame('c', 'one '), Buffer.from('x'), frame('c', ''), frame('r', 'two')]);
  expect(await read([stream])).toEqual(['x', { kind: 'r', payload: 'one two' }]);
});

describe('what is no frame of this execution', () => {
  it.each([
    ['another token', frame('d', '{}', 'f'.repeat(32))],
    ['an unknown kind', Buffer.from(`\x1e${TOKEN}q0000`)],
    ['a length that is none', Buffer.from(`\x1e${TOKEN}d00g0`)],
    ['a capital digit', Buffer.from(`\x1e${TOKEN}d00A0`)],
    ['an unfinished head', Buffer.from(`\x1e${TOKEN}d00`)],
  ])('is output: %s', async (_, bytes) => {
    expect(await read([bytes])).toEqual([bytes.toString('latin1')]);
  });

  it('never becomes one later, when the token has changed', async () => {
    const heard: string[] = [];
    const reader = new FrameReader(100, {
      output: (bytes) => {
        heard.push(Buffer.from(bytes).toString('latin1'));
      },
      message: (kind) => {
        heard.push(`<${kind}>`);
      },
    });
    reader.expect(TOKEN);
    await reader.push(frame('c', 'half of a message'));
    await reader.push(frame('d', '{}').subarray(0, 20));
    const other = 'f'.repeat(32);
    reader.expect(other);
    await reader.push(frame('d', '{}').subarray(20));
    await reader.push(frame('d', '', other));
    expect(heard.join('')).toBe(`${frame('d', '{}').toString('latin1')}<d>`);
  });
});

it('tells that a message was too long and keeps nothing of it, in however many parts it comes', async () => {
  const many = Buffer.concat([...Array(200).fill(frame('c', '12345')), frame('r', 'end'), frame('d', '{}')]);
  expect(await read([many], 100)).toEqual([
    { kind: 'r', payload: null },
    { kind: 'd', payload: '{}' },
  ]);
});

it('keeps no more than a message, whatever comes', async () => {
  const reader = new FrameReader(1024, { output: () => {}, message: () => {} });
  reader.expect(TOKEN);
  const endless = Buffer.concat([
    ...Array(500).fill(frame('c', '1')),
    ...Array(50).fill(frame('c', 'x'.repeat(4000))),
  ]);
  globalThis.gc?.();
  const before = process.memoryUsage();
  for (let i = 0; i < 200; i++) await reader.push(endless);
  const after = process.memoryUsage();
  expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(4 * 1024 * 1024);
});

it('hears the same for any bytes, any frames and any split', async () => {
  const part = fc.oneof(
    fc.uint8Array({ maxLength: 8 }).map((bytes) => ({ bytes: Buffer.from(bytes), heard: 'output' as const })),
    fc.constantFrom('\x1e', `\x1e${TOKEN}`, `\x1e${TOKEN}d`, `\x1e\x1e${TOKEN.slice(0, 9)}`).map((text) => ({
      bytes: Buffer.from(text, 'latin1'),
      heard: 'output' as const,
    })),
    fc.tuple(fc.constantFrom('s', 'r', 'd', 'x'), fc.string({ maxLength: 8 })).map(([kind, text]) => ({
      bytes: frame(kind as FrameKind, text),
      heard: { kind, payload: Buffer.from(text).toString('latin1') },
    })),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part), fc.integer({ min: 1, max: 50 }), async (parts, size) => {
      const stream = Buffer.concat(parts.map(({ bytes }) => bytes));
      expect(await read(inPieces(stream, size))).toEqual(await read([stream]));
    }),
    { numRuns: 500 },
  );
});

it('loses no byte: what is not in a frame is output, in its order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.uint8Array({ maxLength: 20 }), fc.constant('frame'))),
      fc.integer({ min: 1, max: 50 }),
      async (parts, size) => {
        const stream = Buffer.concat(
          parts.map((part) => (part === 'frame' ? frame('r', 'payload') : Buffer.from(part))),
        );
        const output = parts.map((part) => (part === 'frame' ? '' : Buffer.from(part).toString('latin1')));
        const heard = await read(inPieces(stream, size));
        expect(heard.filter((item) => typeof item === 'string').join('')).toBe(output.join(''));
        expect(heard.filter((item) => typeof item !== 'string')).toHaveLength(
          parts.filter((item) => item === 'frame').length,
        );
      },
    ),
  );
});

it('reads a flood at more than 100 MB in a second of CPU', async () => {
  let bytes = 0;
  const reader = new FrameReader(1000, {
    output: (chunk) => {
      bytes += chunk.length;
    },
    message: () => {},
  });
  reader.expect(TOKEN);
  const chunk = Buffer.alloc(65_536, 'y\n');
  const before = process.cpuUsage();
  for (let i = 0; i < 3200; i++) await reader.push(chunk);
  const { user, system } = process.cpuUsage(before);
  expect(bytes).toBe(3200 * 65_536);
  expect((user + system) / 1e6).toBeLessThan(2);
});
