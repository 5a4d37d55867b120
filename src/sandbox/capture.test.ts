import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Capture, TRUNCATION_MARKER } from './capture.ts';

function captured(limitBytes: number, ...chunks: (string | Uint8Array)[]) {
  const capture = new Capture(limitBytes);
  for (const chunk of chunks) capture.push(Buffer.from(chunk));
  return capture.finish();
}

function inPieces(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.slice(i * size, (i + 1) * size),
  );
}

describe('what fits', () => {
  it('is kept as it came, up to and including the limit', () => {
    expect(captured(10)).toEqual({ text: '', bytes: 0, truncated: false });
    expect(captured(10, '12345', '67890')).toEqual({ text: '1234567890', bytes: 10, truncated: false });
  });

  it('is the same text for any split into chunks, invalid bytes replaced', () => {
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 5 }), fc.nat(7), (input, size, spare) => {
        const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(input);
        expect(captured(input.length + spare, ...inPieces(input, size))).toEqual({
          text,
          bytes: input.length,
          truncated: false,
        });
      }),
    );
  });

  it('keeps a byte order mark', () => {
    expect(captured(10, '\uFEFFa').text).toBe('\uFEFFa');
  });
});

describe('what does not fit', () => {
  it('is cut from one byte over the limit on', () => {
    expect(captured(10, '12345678901')).toEqual({
      text: '12345\n... (output truncated)\n78901',
      bytes: 11,
      truncated: true,
    });
  });

  it('leaves no half character at the cut, and none that only the cut made invalid', () => {
    expect(captured(10, '€'.repeat(10)).text).toBe('€\n... (output truncated)\n€');
    expect(captured(14, '🧤'.repeat(10)).text).toBe('🧤\n... (output truncated)\n🧤');
  });

  it('keeps the replacements of bytes that were invalid anyway', () => {
    const invalid = Buffer.alloc(100, 0xff);
    expect(captured(10, invalid).text).toBe(
      `${'\uFFFD'.repeat(5)}\n... (output truncated)\n${'\uFFFD'.repeat(5)}`,
    );
  });

  it('is a beginning and an end of the whole text, for any bytes, limit and split', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 60 }),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).map((text) => Buffer.from(text)),
      fc
        .array(fc.constantFrom('a', '\n', 'é', '€', '🧤'), { minLength: 1, maxLength: 60 })
        .map((all) => Buffer.from(all.join(''))),
    );
    fc.assert(
      fc.property(bytes, fc.nat(), fc.integer({ min: 1, max: 9 }), (input, seed, size) => {
        const limit = seed % input.length;
        const whole = new TextDecoder('utf-8', { ignoreBOM: true }).decode(input);
        const { text, ...rest } = captured(limit, ...inPieces(input, size));
        expect(rest).toEqual({ bytes: input.length, truncated: true });
        const [head = '', tail = ''] = text.split(`${TRUNCATION_MARKER}\n`);
        expect(whole.startsWith(head) || whole.startsWith(head.slice(0, -1))).toBe(true);
        expect(whole.endsWith(tail)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('is cut at line ends where they are near', () => {
    const lines = Array.from({ length: 100_000 }, (_, i) => `${i} `.padEnd(99, 'x'));
    const text = captured(10 * 1024, ...inPieces(Buffer.from(`${lines.join('\n')}\n`), 65_536)).text.split(
      '\n',
    );
    const marker = text.indexOf(TRUNCATION_MARKER);
    expect(text.slice(0, marker)).toEqual(lines.slice(0, marker));
    const after = text.slice(marker + 1, -1);
    expect(after).toEqual(lines.slice(-after.length));
    expect(marker).toBeGreaterThan(45);
    expect(after.length).toBeGreaterThan(45);
  });

  it('is no more than the marker for a limit of 0, and one head byte for 1', () => {
    expect(captured(0, 'ab').text).toBe('... (output truncated)\n');
    expect(captured(1, 'ab').text).toBe('a\n... (output truncated)\n');
  });
});

it('puts a suffix on a line of its own, also behind output that was cut', () => {
  const withSuffix = (limitBytes: number, text: string) => {
    const capture = new Capture(limitBytes);
    capture.push(Buffer.from(text));
    return capture.finish('timed out').text;
  };
  expect(withSuffix(10, '')).toBe('timed out');
  expect(withSuffix(10, 'a')).toBe('a\ntimed out');
  expect(withSuffix(10, 'a\n')).toBe('a\ntimed out');
  expect(withSuffix(2, 'abc')).toBe('a\n... (output truncated)\nc\ntimed out');
});

it('does not depend on a chunk after it was pushed', () => {
  const capture = new Capture(10);
  const chunk = Buffer.from('abcdefgh');
  capture.push(chunk);
  chunk.fill(0);
  expect(capture.finish().text).toBe('abcdefgh');
});

it.each([10 * 1024, 1024 * 1024])(
  'takes 2 GB in 64 KB chunks in well under 2 s of CPU, limit %i',
  (limitBytes) => {
    const capture = new Capture(limitBytes);
    const chunk = Buffer.alloc(65_536, 'x');
    const before = process.cpuUsage();
    const buffersBefore = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 32_768; i++) capture.push(chunk);
    const { user, system } = process.cpuUsage(before);
    expect(process.memoryUsage().arrayBuffers - buffersBefore).toBeLessThan(2 * limitBytes + 1024 * 1024);
    expect((user + system) / 1e6).toBeLessThan(2);
    expect(capture.finish().bytes).toBe(2 ** 31);
  },
);

it('takes a million chunks of one byte in linear time', () => {
  const capture = new Capture(1024);
  const before = process.cpuUsage();
  for (let i = 0; i < 1_000_000; i++) capture.push(Buffer.of(97));
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(4);
  expect(capture.finish().bytes).toBe(1_000_000);
});
