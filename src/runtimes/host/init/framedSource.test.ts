import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { type FramedEnd, FramedSource } from './framedSource.ts';

const SECRET = Buffer.from('0123456789abcdef');

const numbers = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => {
    bytes.writeInt32LE(value, 4 * index);
  });
  return bytes;
};
const frame = (content: string): Buffer => Buffer.concat([numbers(content.length), Buffer.from(content)]);
const end = (status: number, killed: number, secret = SECRET): Buffer =>
  Buffer.concat([numbers(0, status, killed), secret]);

async function read(bytes: Buffer, chunk: number): Promise<[string, FramedEnd | undefined]> {
  const parts = Array.from({ length: Math.ceil(bytes.length / chunk) }, (_, index) =>
    bytes.subarray(index * chunk, (index + 1) * chunk),
  );
  const source = new FramedSource(Readable.from(parts), SECRET);
  return [await text(source), await source.ended];
}

describe('a stream in frames', () => {
  const whole = Buffer.concat([frame('one'), frame('two\0\0\0\0'), end(256, 2)]);

  it.each([1, 2, 3, 5, 1000])('is what the program wrote, and its end, in pieces of %i', async (chunk) => {
    expect(await read(whole, chunk)).toEqual(['onetwo\0\0\0\0', { status: 256, oomKills: 2 }]);
  });

  it('says nothing of memory where nobody can tell', async () => {
    expect(await read(end(9, -1), 1000)).toEqual(['', { status: 9 }]);
  });

  it.each([
    ['before a frame', frame('one')],
    ['in a frame', frame('one and more').subarray(0, 7)],
    ['in its end', Buffer.concat([frame('one'), end(0, 0).subarray(0, 20)])],
    ['by an end that does not know the secret', Buffer.concat([frame('one'), end(0, 0, Buffer.alloc(16))])],
  ])('that is cut off says how much there was, and no end: %s', async (_where, bytes) => {
    expect(await read(bytes, 1000)).toEqual(['one', undefined]);
  });

  it('says no more once it is given up', async () => {
    const source = new FramedSource(Readable.from([whole]), SECRET);
    source.destroy();
    expect(await source.ended).toBe(undefined);
  });

  it('can be asked for its first bytes', async () => {
    const source = new FramedSource(Readable.from([whole]), SECRET);
    expect([await source.first(3), await text(source)]).toEqual(['one', 'two\0\0\0\0']);
  });
});
