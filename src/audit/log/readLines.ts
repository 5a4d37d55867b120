import { createReadStream } from 'node:fs';

/** A line of a file, without its end. */
export interface Line {
  readonly bytes: Buffer;
  /** False for the last one where its end is missing. */
  readonly isWhole: boolean;
}

/** The lines of a file, or of what stands in it from an offset on; one behind the end of the file is waited for by nobody. */
export async function* readLines(path: string, start = 0): AsyncGenerator<Line> {
  let left: Buffer[] = [];
  const chunks = createReadStream(path, { highWaterMark: 1024 * 1024, start }) as AsyncIterable<Buffer>;
  for await (const chunk of chunks) {
    let begin = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, begin)) {
      const part = chunk.subarray(begin, end);
      yield { bytes: left.length === 0 ? part : Buffer.concat([...left, part]), isWhole: true };
      left = [];
      begin = end + 1;
    }
    if (begin < chunk.length) left.push(chunk.subarray(begin));
  }
  if (left.length > 0) yield { bytes: Buffer.concat(left), isWhole: false };
}
