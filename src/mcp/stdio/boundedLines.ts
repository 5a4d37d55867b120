import { Transform, type TransformCallback } from 'node:stream';

const LINE_FEED = 0x0a;

/**
 * Passes whole lines on, and drops those that are longer than the limit, in bytes: so much of a line is kept in memory,
 * and no more. `onDropped` is told of each.
 */
export function boundedLines(limit: number, onDropped: () => void): Transform {
  let pieces: Buffer[] = [];
  let size = 0;
  let isTooLong = false;

  const add = (piece: Buffer): void => {
    size += piece.length;
    if (size > limit) {
      isTooLong = true;
      pieces = [];
    }
    if (!isTooLong) pieces.push(piece);
  };
  const take = (): Buffer | undefined => {
    const line = isTooLong ? undefined : Buffer.concat(pieces);
    if (isTooLong) onDropped();
    pieces = [];
    size = 0;
    isTooLong = false;
    return line;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      let start = 0;
      for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
        add(chunk.subarray(start, end + 1));
        start = end + 1;
        const line = take();
        if (line !== undefined) this.push(line);
      }
      // A copy: the rest may wait for long, and would keep all of the chunk.
      if (start < chunk.length) add(Buffer.from(chunk.subarray(start)));
      done();
    },
  });
}
