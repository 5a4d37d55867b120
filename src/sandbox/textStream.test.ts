import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeStream } from './textStream.ts';

it('holds a split character back until it is whole', () => {
  const stream = decodeStream();
  const [first, ...rest] = Buffer.from('€');
  expect(stream.push(Buffer.of(0x61, first as number))).toBe('a');
  expect(stream.push(Buffer.from(rest))).toBe('€');
  expect(stream.finish()).toBe('');
});

it('replaces a character that never became whole', () => {
  const stream = decodeStream();
  expect(stream.push(Buffer.from('€').subarray(0, 2))).toBe('');
  expect(stream.finish()).toBe('\uFFFD');
});

it('yields the text of the whole, for any bytes and any split', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 5 })), (chunks) => {
      const stream = decodeStream();
      const text = chunks.map((chunk) => stream.push(chunk)).join('') + stream.finish();
      expect(text).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(chunks)));
    }),
  );
});
