import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Demultiplexer } from './frames.ts';

const frame = (stream: 1 | 2, content: string | Uint8Array): Buffer => {
  const bytes = Buffer.from(content);
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
};

const over = (...chunks: Uint8Array[]): Demultiplexer => new Demultiplexer(Readable.from(chunks));

describe("a container's output", () => {
  it('comes apart into its streams, however the connection cuts it', async () => {
    const frames = Buffer.concat([frame(1, 'out 1\n'), frame(2, 'err\n'), frame(1, ''), frame(1, 'out 2\n')]);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(frames.length), { maxLength: 12 }), async (cuts) => {
        const ends = [...cuts.sort((a, b) => a - b), frames.length];
        const chunks = ends.map((end, number) => frames.subarray(ends[number - 1] ?? 0, end));
        const { stdout, stderr } = over(...chunks.filter(({ length }) => length > 0));
        expect(await Promise.all([text(stdout), text(stderr)])).toEqual(['out 1\nout 2\n', 'err\n']);
      }),
    );
  });

  it('gives its first line and then the rest, also when the other stream was there first', async () => {
    const output = over(
      frame(2, 'x'.repeat(1_000_000)),
      frame(1, 'sta'),
      frame(1, 'rted\nand mo'),
      frame(1, 're'),
    );
    expect(await output.stdout.line(100)).toBe('started');
    output.holdBack();
    const [stdout, stderr] = await Promise.all([text(output.stdout), text(output.stderr)]);
    expect([stdout, stderr.length]).toEqual(['and more', 1_000_000]);
  });

  it('has no first line when it ends before one, or goes on for too long', async () => {
    expect(await over(frame(1, 'no end')).stdout.line(100)).toBeUndefined();
    expect(await over(frame(1, 'x'.repeat(200))).stdout.line(100)).toBeUndefined();
  });

  it('is not read faster than whoever reads it', async () => {
    let given = 0;
    const source = Readable.from(
      (function* () {
        for (; given < 1000; given++) yield frame(1, 'x'.repeat(16 * 1024));
      })(),
    );
    const output = new Demultiplexer(source);
    output.holdBack();
    const iterator = output.stdout[Symbol.asyncIterator]();
    await iterator.next();
    await new Promise((resolve) => setImmediate(resolve));
    expect(given).toBeLessThan(100);
    await iterator.return(undefined);
    await output.ended;
    // Nobody wants it any more: it is read and thrown away.
    expect(given).toBe(1000);
  });

  it('is drained without a reader after some patience, and at once when it has ended', async () => {
    const unread = new Demultiplexer(
      Readable.from(Array.from({ length: 50 }, () => frame(1, 'x'.repeat(16 * 1024)))),
    );
    unread.holdBack();
    await unread.drained(20);
    expect(await Promise.race([unread.ended.then(() => 'ended'), 'waits'])).toBe('waits');
    const ended = over(frame(1, 'short'));
    await ended.drained(60_000);
    expect(await text(ended.stdout)).toBe('short');
  });

  it('ends where the connection breaks', async () => {
    const broken = new Readable({ read() {} });
    const { stdout, stderr } = new Demultiplexer(broken);
    broken.push(frame(1, 'before'));
    broken.push(frame(1, 'cut off').subarray(0, 12));
    const both = Promise.all([text(stdout), text(stderr)]);
    setImmediate(() => broken.destroy(new Error('ECONNRESET')));
    expect(await both).toEqual(['beforecut ', '']);
  });
});
