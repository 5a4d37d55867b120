/** What one execution has written and shown, in the order in which it came, for whoever asks from any point on. */
import { Bell } from '../bell.ts';
import {
  type KeptStream,
  type OutputPage,
  type PageRequest,
  readPage,
  type StreamName,
} from '../sandbox/outputPage.ts';

/** How far somebody has read: bytes of each stream, and rich results. */
export interface LogPosition {
  readonly stdout: number;
  readonly stderr: number;
  readonly rich: number;
}

export const LOG_START: LogPosition = { stdout: 0, stderr: 0, rich: 0 };

/** One thing to tell; `next` is how far somebody has read who has been told of it. */
export type LogEntry = { readonly next: LogPosition } & (
  | {
      readonly type: 'output';
      readonly stream: StreamName;
      readonly offset: number;
      readonly bytes: Uint8Array;
    }
  | { readonly type: 'rich'; readonly json: string }
  /** So many bytes from there on are not kept any more. */
  | { readonly type: 'gap'; readonly stream: StreamName; readonly droppedBytes: number }
);

/** Output of one stream in a row is gathered up to this size, however small the pieces are that it comes in. */
const PIECE_BYTES = 32 * 1024;

/** What a piece costs besides its content, so that many small ones are bounded as well. */
const PIECE_COST = 256;

type Piece = { readonly from: LogPosition } & (
  | { readonly type: 'output'; readonly stream: StreamName; bytes: Buffer; length: number }
  | { readonly type: 'rich'; readonly json: string }
);

/** Keeps the newest output up to a capacity. Nobody who reads holds up whoever writes. */
export class OutputLog {
  readonly #capacity: number;
  readonly #news = new Bell();
  #pieces: Piece[] = [];
  #end: LogPosition = LOG_START;
  /** Where what is kept begins. */
  #first: LogPosition = LOG_START;
  #heldBytes = 0;
  #ended = false;

  constructor(capacityBytes: number) {
    this.#capacity = capacityBytes;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Those that are kept, in their order. */
  get richResults(): readonly string[] {
    return this.#pieces.flatMap((piece) => (piece.type === 'rich' ? [piece.json] : []));
  }

  /** How much was written to both streams. */
  get totalBytes(): number {
    return this.#end.stdout + this.#end.stderr;
  }

  /** What is kept, with what keeping it costs. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Keeps a copy. */
  push(stream: StreamName, chunk: Uint8Array): void {
    if (this.#ended || chunk.length === 0) return;
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
      this.#append(stream, chunk.subarray(start, start + PIECE_BYTES));
    }
    this.#changed();
  }

  pushRich(json: string): void {
    if (this.#ended) return;
    this.#pieces.push({ type: 'rich', from: this.#end, json });
    this.#end = { ...this.#end, rich: this.#end.rich + 1 };
    this.#heldBytes += json.length + PIECE_COST;
    this.#changed();
  }

  /** Nothing more will come. */
  end(): void {
    this.#ended = true;
    this.#news.ring();
  }

  /** Settles at the next change; whoever waits looks first, and has asked for this before. */
  changed(): Promise<void> {
    return this.#news.rung();
  }

  /**
   * Where somebody stands who has read so many bytes and rich results in all; where that is not kept any more, where what
   * is kept begins.
   */
  positionAt(total: number): LogPosition {
    if (total <= totalOf(this.#first)) return this.#first;
    const piece = this.#pieces.find(({ from }, i) => {
      const next = this.#pieces[i + 1]?.from ?? this.#end;
      return totalOf(from) <= total && total < totalOf(next);
    });
    if (piece === undefined) return this.#end;
    const read = total - totalOf(piece.from);
    const counted = piece.type === 'rich' ? 'rich' : piece.stream;
    return { ...piece.from, [counted]: piece.from[counted] + read };
  }

  /** What somebody who has read so far is told next; empty where there is nothing (yet). At least `limit` bytes, if there are. */
  after(position: LogPosition, limit: number): LogEntry[] {
    const entries: LogEntry[] = [];
    let at = position;
    for (const stream of ['stdout', 'stderr'] as const) {
      const droppedBytes = this.#first[stream] - at[stream];
      if (droppedBytes <= 0) continue;
      at = { ...at, [stream]: this.#first[stream] };
      entries.push({ type: 'gap', stream, droppedBytes, next: at });
    }
    at = { ...at, rich: Math.max(at.rich, this.#first.rich) };
    let size = 0;
    for (let i = this.#indexOf(at); i < this.#pieces.length && size < limit; i++) {
      const entry = entryOf(this.#pieces[i] as Piece, at);
      if (entry === undefined) continue;
      at = entry.next;
      size += entry.type === 'rich' ? entry.json.length : entry.type === 'output' ? entry.bytes.length : 0;
      entries.push(entry);
    }
    return entries;
  }

  /** A page of one stream. Throws `INPUT_INVALID` for an offset or a limit that is none. */
  page(request: PageRequest = {}): OutputPage {
    const stream = request.stream === 'stderr' ? 'stderr' : 'stdout';
    const kept: KeptStream = {
      totalBytes: this.#end[stream],
      droppedBytes: this.#first[stream],
      ended: this.#ended,
      copy: (offset, limit) => this.#copy(stream, offset, limit),
    };
    return readPage(kept, request);
  }

  #append(stream: StreamName, chunk: Uint8Array): void {
    const last = this.#pieces.at(-1);
    if (last?.type === 'output' && last.stream === stream && last.length + chunk.length <= PIECE_BYTES) {
      if (last.length + chunk.length > last.bytes.length) {
        const larger = Buffer.alloc(Math.min(PIECE_BYTES, 2 * (last.length + chunk.length)));
        last.bytes.copy(larger, 0, 0, last.length);
        this.#heldBytes += larger.length - last.bytes.length;
        last.bytes = larger;
      }
      last.bytes.set(chunk, last.length);
      last.length += chunk.length;
    } else {
      this.#pieces.push({
        ...{ type: 'output', stream, from: this.#end, bytes: Buffer.from(chunk), length: chunk.length },
      });
      this.#heldBytes += chunk.length + PIECE_COST;
    }
    this.#end = { ...this.#end, [stream]: this.#end[stream] + chunk.length };
  }

  #changed(): void {
    let dropped = 0;
    while (this.#heldBytes > this.#capacity && dropped < this.#pieces.length - 1) {
      this.#heldBytes -= costOf(this.#pieces[dropped++] as Piece);
    }
    if (dropped > 0) {
      this.#pieces.splice(0, dropped);
      this.#first = this.#pieces[0]?.from ?? this.#end;
    }
    this.#news.ring();
  }

  /** The first piece that holds something behind a position that was told. */
  #indexOf(position: LogPosition): number {
    let [low, high] = [0, this.#pieces.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (totalOf(endOf(this.#pieces[middle] as Piece)) <= totalOf(position)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #copy(stream: StreamName, offset: number, limit: number): { offset: number; bytes: Uint8Array } {
    const start = Math.max(offset, this.#first[stream]);
    const bytes = Buffer.alloc(Math.max(0, Math.min(limit, this.#end[stream] - start)));
    for (const piece of this.#pieces) {
      if (piece.type !== 'output' || piece.stream !== stream) continue;
      const from = Math.max(start, piece.from[stream]);
      const to = Math.min(start + bytes.length, piece.from[stream] + piece.length);
      const begins = piece.from[stream];
      if (from < to) piece.bytes.copy(bytes, from - start, from - begins, to - begins);
    }
    return { offset: start, bytes };
  }
}

function entryOf(piece: Piece, at: LogPosition): LogEntry | undefined {
  if (piece.type === 'rich') {
    return piece.from.rich < at.rich
      ? undefined
      : { type: 'rich', json: piece.json, next: { ...at, rich: piece.from.rich + 1 } };
  }
  const { stream, from, length } = piece;
  const offset = Math.max(at[stream], from[stream]);
  const end = from[stream] + length;
  if (offset >= end) return undefined;
  // A copy: the piece may go on to be filled.
  const bytes = Buffer.from(piece.bytes.subarray(offset - from[stream], length));
  return { type: 'output', stream, offset, bytes, next: { ...at, [stream]: end } };
}

function costOf(piece: Piece): number {
  return PIECE_COST + (piece.type === 'rich' ? piece.json.length : piece.bytes.length);
}

function endOf(piece: Piece): LogPosition {
  return piece.type === 'rich'
    ? { ...piece.from, rich: piece.from.rich + 1 }
    : { ...piece.from, [piece.stream]: piece.from[piece.stream] + piece.length };
}

/** How much that is in all: what comes is counted in its order. */
export function totalOf({ stdout, stderr, rich }: LogPosition): number {
  return stdout + stderr + rich;
}
