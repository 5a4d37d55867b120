/**
 * An attached container's output: one connection that carries both streams in frames, each with a header of
 * eight bytes: the stream, three zeros, and the length (Engine API, "Attach to a container", stream format).
 */
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { ByteSource } from '../runtime.ts';

const HEADER_BYTES = 8;
const STDERR = 2;

/** How often somebody looks whether a reader has come. */
const DRAIN_ROUNDS = 10;

/** Takes the connection apart; each stream comes as fast as whoever reads it, and holds the other one back. */
export class Demultiplexer {
  readonly stdout = new FrameSource();
  readonly stderr = new FrameSource();
  /** Settles when the connection has ended, for whatever reason. */
  readonly ended: Promise<void>;
  #waitsForReader = false;

  constructor(connection: Readable) {
    this.ended = this.#pump(connection);
  }

  /**
   * Resolves when all output of a container that has stopped is read. It does not wait for a reader who does
   * not come: after `patienceMs` with the same chunk in hand, that is the reader's own business.
   */
  async drained(patienceMs: number): Promise<void> {
    const over = new AbortController();
    const stuck = async (): Promise<void> => {
      for (let rounds = 0; rounds < DRAIN_ROUNDS; rounds = this.#waitsForReader ? rounds + 1 : 0) {
        await delay(patienceMs / DRAIN_ROUNDS, undefined, { signal: over.signal });
      }
    };
    try {
      await Promise.race([this.ended, stuck()]);
    } finally {
      over.abort();
    }
  }

  /** From here on both streams are read: the connection waits for whoever is slow. */
  holdBack(): void {
    this.stdout.holdBack();
    this.stderr.holdBack();
  }

  async #pump(connection: Readable): Promise<void> {
    const header = Buffer.alloc(HEADER_BYTES);
    let headerLength = 0;
    let left = 0;
    try {
      for await (const chunk of connection as AsyncIterable<Buffer>) {
        for (let rest = chunk; rest.length > 0; ) {
          if (left === 0) {
            const taken = rest.copy(header, headerLength, 0, HEADER_BYTES - headerLength);
            headerLength += taken;
            rest = rest.subarray(taken);
            if (headerLength < HEADER_BYTES) break;
            headerLength = 0;
            left = header.readUInt32BE(4);
            continue;
          }
          const part = rest.subarray(0, left);
          rest = rest.subarray(part.length);
          left -= part.length;
          this.#waitsForReader = true;
          await (header[0] === STDERR ? this.stderr : this.stdout).give(part);
          this.#waitsForReader = false;
        }
      }
    } catch {
      // The connection broke: what came until then is what there is, and the container's end is told elsewhere.
    } finally {
      this.stdout.finish();
      this.stderr.finish();
    }
  }
}

/** What may wait for its reader before the connection has to. */
const ROOM_BYTES = 64 * 1024;

/** One stream of it. */
export class FrameSource implements ByteSource {
  readonly #waiting: Uint8Array[] = [];
  #bytes = 0;
  /** Until the first line is known, nobody reads the other stream: then everything of it may wait. */
  #room = Number.POSITIVE_INFINITY;
  #finished = false;
  #taken: () => void = () => {};
  #given: () => void = () => {};

  /** Resolves when there is room for more, or nobody wants it any more. */
  give(chunk: Uint8Array): Promise<void> {
    if (this.#finished) return Promise.resolve();
    this.#waiting.push(chunk);
    this.#bytes += chunk.length;
    this.#given();
    if (this.#bytes < this.#room) return Promise.resolve();
    return new Promise((resolve) => {
      this.#taken = resolve;
    });
  }

  /** From here on it holds its connection back when its reader is slow. */
  holdBack(): void {
    this.#room = ROOM_BYTES;
  }

  /** No more will come. */
  finish(): void {
    this.#finished = true;
    this.#given();
  }

  /** The bytes up to the first line feed, which is taken too; undefined when the stream ends before one. */
  async line(maxBytes: number): Promise<string | undefined> {
    let line = '';
    while (line.length <= maxBytes) {
      const chunk = await this.#next();
      if (chunk === undefined) return undefined;
      const end = chunk.indexOf(0x0a);
      line += Buffer.from(end < 0 ? chunk : chunk.subarray(0, end)).toString('latin1');
      if (end < 0) continue;
      const rest = chunk.subarray(end + 1);
      if (rest.length > 0) {
        this.#waiting.unshift(rest);
        this.#bytes += rest.length;
      }
      return line;
    }
    return undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (let chunk = await this.#next(); chunk !== undefined; chunk = await this.#next()) yield chunk;
    } finally {
      this.destroy();
    }
  }

  destroy(): void {
    this.#finished = true;
    this.#waiting.length = 0;
    this.#bytes = 0;
    this.#taken();
    this.#given();
  }

  async #next(): Promise<Uint8Array | undefined> {
    if (this.#waiting.length === 0 && !this.#finished) {
      await new Promise<void>((resolve) => {
        this.#given = resolve;
      });
    }
    const chunk = this.#waiting.shift();
    this.#bytes -= chunk?.length ?? 0;
    if (this.#bytes < this.#room) this.#taken();
    return chunk;
  }
}

/** What a source says first, as text; no more than so many bytes of it are waited for. */
export async function firstBytes(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of source) {
    parts.push(Buffer.from(chunk));
    length += chunk.length;
    if (length > maxBytes) break;
  }
  return Buffer.concat(parts).toString('utf8').trim();
}
