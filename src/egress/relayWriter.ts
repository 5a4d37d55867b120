import type { Writable } from 'node:stream';
import type { RelayConnection } from './relayConnection.ts';
import { dataHeader } from './relayFrames.ts';

/** So much of what is sent may wait for the relay; then the connections wait. */
const DATA_BYTES = 128 * 1024;
/** So much in all: a relay of ours never makes us say more before it listens. */
const MOST_BYTES = 2 * DATA_BYTES;

/** Writes frames to a relay: what we say at once, and data of all connections in turn, as fast as it is taken. */
export class RelayWriter {
  readonly #input: Writable;
  readonly #waiting = new Set<RelayConnection>();
  #pumping = false;

  constructor(input: Writable) {
    this.#input = input;
    input.on('drain', () => this.#pump());
  }

  /** False when the relay has not listened for far too long. */
  say(frame: Buffer): boolean {
    if (!this.#input.writable) return true;
    this.#input.write(frame);
    return this.#input.writableLength <= MOST_BYTES;
  }

  enqueue(connection: RelayConnection): void {
    this.#waiting.add(connection);
    this.#pump();
  }

  close(): void {
    this.#waiting.clear();
    this.#input.destroy();
  }

  #pump(): void {
    // A callback of a write may come back here.
    if (this.#pumping) return;
    this.#pumping = true;
    this.#input.cork();
    for (const connection of this.#waiting) {
      if (!this.#input.writable || this.#input.writableLength >= DATA_BYTES) break;
      // Behind those who wait already.
      this.#waiting.delete(connection);
      const piece = connection.next();
      if (piece === undefined) continue;
      this.#input.write(dataHeader(connection.id, piece.data.length));
      this.#input.write(piece.data, () => {
        piece.sent();
        this.#pump();
      });
      if (connection.hasMore) this.#waiting.add(connection);
    }
    this.#input.uncork();
    this.#pumping = false;
  }
}
