/** Reads tar archives that anybody may have made: as a stream, one entry after another. */
import { extract, type Header } from 'tar-stream';
import { SandboxError } from '../errors.ts';

/** An entry as the archive has it; nothing about it is checked. */
export interface FoundEntry {
  readonly name: Buffer;
  /** `file`, `directory`, `symlink`, or in words what else it is. */
  readonly type: string;
  readonly mode: number;
  readonly modifiedAt: number;
  readonly size: number;
  /** Where a link leads; empty for everything else. */
  readonly target: Buffer;
  /** To be read, if at all, before the next entry is asked for. */
  readonly content: AsyncIterable<Uint8Array>;
}

const BLOCK = 512;

const KINDS: Readonly<Record<string, string>> = {
  file: 'file',
  'contiguous-file': 'file',
  directory: 'directory',
  symlink: 'symlink',
  link: 'a hard link',
  fifo: 'a FIFO',
  'character-device': 'a device',
  'block-device': 'a device',
};

/** The headers as the parser really gives them: its types leave some out. */
type ParsedHeader = Omit<Header, 'type' | 'linkname'> & {
  readonly type: string | null;
  readonly linkname: string | null;
  readonly byteOffset: number;
  readonly pax: Readonly<Record<string, string>> | null;
};

/** Fields of a header are bytes, which this keeps apart. */
const PARSER_OPTIONS = { filenameEncoding: 'latin1' } as Parameters<typeof extract>[0];

/**
 * The entries of an archive. A chunk that the source gave must not change afterwards. Throws `INPUT_INVALID` where it
 * is no archive or ends too early, and what the source throws. The source is told when nobody reads on.
 */
export async function* readArchive(
  source: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<FoundEntry> {
  const parser = extract(PARSER_OPTIONS);
  // What goes wrong is thrown below; an event of it that nobody hears would end this process.
  parser.on('error', () => {});
  const supply = new Supply(source, parser);
  const abort = (): void => supply.fail(signal?.reason);
  let lastEnd = 0;
  try {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', abort, { once: true });
    supply.start();
    for await (const entry of parser) {
      const header = entry.header as unknown as ParsedHeader;
      lastEnd =
        header.byteOffset + (header.type === 'directory' ? 0 : Math.ceil(header.size / BLOCK) * BLOCK);
      yield { ...describe(header), content: contentOf(entry as AsyncIterable<Uint8Array>, supply) };
      // What nobody reads is passed over.
      entry.resume();
    }
  } catch (error) {
    throw supply.failure ?? damaged(error as Error);
  } finally {
    signal?.removeEventListener('abort', abort);
    supply.stop();
  }
  // The parser is content with an archive that stops between two entries; one that is whole says that it ends.
  if (supply.bytes < lastEnd + BLOCK) throw damaged(new Error('it ends too early'));
}

type Parser = ReturnType<typeof extract>;

/** Brings the source's chunks to the parser, each when the one before is taken in. */
class Supply {
  bytes = 0;
  /** Why the source gave no more, where it was not the parser's doing. */
  failure: unknown;
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #parser: Parser;
  #iterator: AsyncIterator<Uint8Array> | undefined;
  #stopped = false;

  constructor(source: AsyncIterable<Uint8Array>, parser: Parser) {
    this.#source = source;
    this.#parser = parser;
  }

  start(): void {
    this.#iterator = this.#source[Symbol.asyncIterator]();
    void this.#run(this.#iterator);
  }

  fail(reason: unknown): void {
    this.failure ??= reason ?? new Error('The archive was given up.');
    this.#parser.destroy(this.failure as Error);
  }

  /** Gives the source up where it has not ended; nobody waits for one that never answers. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    if (!this.#parser.destroyed) this.#parser.destroy(new Error('nobody reads on'));
    const destroyed = (this.#source as Partial<{ destroy(): void }>).destroy;
    if (destroyed !== undefined) destroyed.call(this.#source);
    else void Promise.resolve(this.#iterator?.return?.()).catch(() => {});
  }

  async #run(chunks: AsyncIterator<Uint8Array>): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await chunks.next();
        if (done || this.#parser.destroyed) break;
        this.bytes += value.byteLength;
        if (!this.#parser.write(value)) await this.#taken();
      }
      this.#parser.end(undefined);
    } catch (error) {
      if (!this.#stopped) this.fail(error);
    }
  }

  /** Resolves when the parser wants more, or nothing any more. */
  #taken(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#parser.off('drain', done).off('close', done);
        resolve();
      };
      this.#parser.on('drain', done).on('close', done);
      if (this.#parser.destroyed) done();
    });
  }
}

/** Its content; what goes wrong with the archive in the middle of it is said as for the archive. */
async function* contentOf(entry: AsyncIterable<Uint8Array>, supply: Supply): AsyncGenerator<Uint8Array> {
  try {
    yield* entry;
  } catch (error) {
    throw supply.failure ?? damaged(error as Error);
  }
}

function describe({
  name,
  type,
  mode,
  mtime,
  size,
  linkname,
  pax,
}: ParsedHeader): Omit<FoundEntry, 'content'> {
  const sparse = Object.keys(pax ?? {}).some((key) => key.startsWith('GNU.sparse'));
  return {
    // Fields of the header are bytes; records of an extended header are UTF-8.
    name: pax?.['path'] ? Buffer.from(pax['path']) : Buffer.from(name, 'latin1'),
    type: sparse ? 'a sparse file' : (KINDS[type ?? ''] ?? 'of an unknown kind'),
    mode: mode || 0,
    modifiedAt: mtime.getTime() / 1000 || 0,
    size,
    target: pax?.['linkpath'] ? Buffer.from(pax['linkpath']) : Buffer.from(linkname ?? '', 'latin1'),
  };
}

function damaged(cause: Error): SandboxError {
  return new SandboxError(
    'INPUT_INVALID',
    `This is not a whole tar archive: ${cause.message}.`.replace(/[.?!]+\.$/, '.'),
    {
      hint: 'Give an uncompressed tar archive (ustar, pax or GNU), from its beginning to its end.',
      cause,
    },
  );
}
