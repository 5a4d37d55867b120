/** A tar archive (POSIX.1-1988, "ustar") of a few files, bit by bit: all that a build's context needs. */

export interface ArchiveFile {
  /** At most 100 bytes of ASCII. */
  readonly name: string;
  readonly mode: number;
  readonly size: number;
  /** Exactly `size` bytes. */
  readonly content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

const BLOCK = 512;

/** The bytes of the archive. Throws when a file is not as long as it was said to be. */
export async function* tarArchive(files: readonly ArchiveFile[]): AsyncGenerator<Uint8Array> {
  for (const file of files) {
    yield header(file);
    let length = 0;
    for await (const chunk of file.content) {
      length += chunk.byteLength;
      yield chunk;
    }
    if (length !== file.size) throw new Error(`${file.name} has ${length} bytes and not ${file.size}`);
    yield Buffer.alloc((BLOCK - (length % BLOCK)) % BLOCK);
  }
  yield Buffer.alloc(2 * BLOCK);
}

/** Everything belongs to root and is as old as time itself, so that the same files make the same archive. */
function header({ name, mode, size }: ArchiveFile): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 100, 'ascii');
  block.write(octal(mode, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  block.write(octal(size, 12), 124);
  block.write(octal(0, 12), 136);
  block.write(' '.repeat(8), 148);
  block.write('0', 156);
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** A number as a field of this many bytes, the last of which is NUL. */
function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, '0')}\0`;
}
