/** The output of a sandbox's executions, kept to be paged: in a file, up to a size; the oldest goes first. */

import { Bell } from '../bell.ts';
import { SandboxError } from '../errors.ts';
import { OutputFile } from './outputFile.ts';
import {
  type KeptStream,
  type OutputPage,
  type PageRequest,
  readPage,
  type StreamName,
} from './outputPage.ts';

/** Output that is still written. */
export interface OutputRecord {
  /** Keeps a copy. Never throws: what cannot be kept is dropped, and pages say so. */
  push(stream: StreamName, chunk: Uint8Array): void;
  end(): void;
}

/** Of more executions not even the sizes are remembered. */
const MAX_EXECUTIONS = 1000;

/** Gathered before it is written, so that no alternation of streams makes more pieces than this allows. */
const STAGE_BYTES = 32 * 1024;

/** From here on, pieces of forgotten executions are looked for that newer ones did not push out. */
const MANY_PIECES = 16_384;

const NOTHING = new Uint8Array(0);

export class KeptOutput {
  readonly #capacity: number;
  readonly #executions = new Map<string, Execution>();
  /** Of all streams, in the order of their places in the file. */
  #pieces: Piece[] = [];
  #file: OutputFile | undefined;
  #closed = false;

  constructor(capacityBytes: number) {
    this.#capacity = capacityBytes;
  }

  /** Begins to keep the output of one execution. */
  open(executionId: string): OutputRecord {
    const execution = new Execution();
    this.#executions.set(executionId, execution);
    this.#forgetOldest();
    return {
      push: (stream, chunk) => {
        if (this.#closed || execution.ended) return;
        this.#push(execution[stream], chunk);
        execution.news.ring();
      },
      end: () => {
        if (!this.#closed) {
          this.#writeStaged(execution.stdout);
          this.#writeStaged(execution.stderr);
        }
        execution.ended = true;
        execution.news.ring();
      },
    };
  }

  /** Throws `INPUT_INVALID` for an execution that is not known. */
  page(executionId: string, request: PageRequest = {}): OutputPage {
    return readPage(this.#view(this.#find(executionId), request.stream), request);
  }

  /** Page after page, until the execution has ended and all was told; rejects when this is closed meanwhile. */
  async *follow(executionId: string, request: PageRequest = {}): AsyncGenerator<OutputPage> {
    const { news } = this.#find(executionId);
    let offset = request.offset ?? 0;
    for (;;) {
      const rung = news.rung();
      const page = this.page(executionId, { ...request, offset });
      offset = page.nextOffset;
      if (page.bytes.length > 0) yield page;
      else if (page.ended) return;
      else await rung;
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#file?.close();
    const executions = [...this.#executions.values()];
    this.#executions.clear();
    this.#pieces = [];
    for (const { news } of executions) news.ring();
  }

  #find(executionId: string): Execution {
    const found = this.#executions.get(executionId);
    if (found !== undefined) return found;
    throw new SandboxError(
      'INPUT_INVALID',
      `No output of an execution ${JSON.stringify(String(executionId).slice(0, 100))} is kept in this sandbox.`,
      { hint: 'Take the id from meta.executionId of a result, or from onStart.' },
    );
  }

  #view(execution: Execution, name: StreamName = 'stdout'): KeptStream {
    const stream = name === 'stderr' ? execution.stderr : execution.stdout;
    return {
      totalBytes: stream.total,
      droppedBytes: stream.first,
      ended: execution.ended,
      copy: (offset, limit) => {
        const start = Math.max(offset, stream.first);
        const bytes = new Uint8Array(Math.max(0, Math.min(limit, stream.total - start)));
        this.#copy(stream, start, bytes);
        return { offset: start, bytes };
      },
    };
  }

  #copy(stream: Stream, start: number, target: Uint8Array): void {
    const end = start + target.length;
    for (const { offset, length, position } of stream.pieces) {
      const from = Math.max(start, offset);
      const to = Math.min(end, offset + length);
      if (from < to) this.#file?.read(position + from - offset, target.subarray(from - start, to - start));
    }
    const from = Math.max(start, stream.written);
    if (from < end) {
      target.set(stream.staged.subarray(from - stream.written, end - stream.written), from - start);
    }
  }

  #push(stream: Stream, chunk: Uint8Array): void {
    if (stream.stagedBytes + chunk.length > STAGE_BYTES) this.#writeStaged(stream);
    if (chunk.length > STAGE_BYTES) {
      this.#write(stream, chunk);
      return;
    }
    if (stream.staged.length === 0) stream.staged = new Uint8Array(STAGE_BYTES);
    stream.staged.set(chunk, stream.stagedBytes);
    stream.stagedBytes += chunk.length;
  }

  #writeStaged(stream: Stream): void {
    const { staged, stagedBytes } = stream;
    stream.staged = NOTHING;
    stream.stagedBytes = 0;
    this.#write(stream, staged.subarray(0, stagedBytes));
  }

  #write(stream: Stream, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const offset = stream.written;
    stream.written += bytes.length;
    try {
      this.#file ??= new OutputFile(this.#capacity);
      const position = this.#file.written;
      this.#file.append(bytes);
      this.#note({ stream, offset, length: bytes.length, position });
      this.#dropOverwritten(this.#file.first);
    } catch {
      // No room on this host's disk: what was kept of the stream would have a hole, so only newer output counts.
      stream.drop(stream.written);
    }
  }

  #note(piece: Piece): void {
    const last = this.#pieces.at(-1);
    if (last?.stream === piece.stream && last === piece.stream.pieces.at(-1)) {
      last.length += piece.length;
      return;
    }
    this.#pieces.push(piece);
    piece.stream.pieces.push(piece);
  }

  #dropOverwritten(first: number): void {
    for (let piece = this.#pieces[0]; piece !== undefined; piece = this.#pieces[0]) {
      const { stream, offset, length, position } = piece;
      const overwritten = Math.min(length, first - position);
      if (overwritten > 0) stream.drop(offset + overwritten);
      if (!stream.forgotten && overwritten < length) break;
      this.#pieces.shift();
    }
    if (this.#pieces.length > MANY_PIECES) {
      this.#pieces = this.#pieces.filter(({ stream }) => !stream.forgotten);
    }
  }

  #forgetOldest(): void {
    for (const [id, execution] of this.#executions) {
      if (this.#executions.size <= MAX_EXECUTIONS) return;
      if (!execution.ended) continue;
      this.#executions.delete(id);
      for (const stream of [execution.stdout, execution.stderr]) {
        stream.forgotten = true;
        stream.pieces = [];
      }
    }
  }
}

class Execution {
  readonly stdout = new Stream();
  readonly stderr = new Stream();
  readonly news = new Bell();
  ended = false;
}

class Stream {
  /** Those of its bytes that are in the file, without a gap from `first` to `written`. */
  pieces: Piece[] = [];
  first = 0;
  written = 0;
  staged: Uint8Array = NOTHING;
  stagedBytes = 0;
  forgotten = false;

  get total(): number {
    return this.written + this.stagedBytes;
  }

  /** What stands before this offset is not kept any more. */
  drop(before: number): void {
    this.first = Math.max(this.first, before);
    for (let piece = this.pieces[0]; piece !== undefined; piece = this.pieces[0]) {
      const gone = Math.min(piece.length, this.first - piece.offset);
      if (gone <= 0) return;
      piece.offset += gone;
      piece.position += gone;
      piece.length -= gone;
      if (piece.length > 0) return;
      this.pieces.shift();
    }
  }
}

/** Bytes of one stream that lie side by side in the file. */
interface Piece {
  readonly stream: Stream;
  offset: number;
  length: number;
  position: number;
}
