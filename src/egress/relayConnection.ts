import { Duplex } from 'node:stream';
import { ByteQueue } from './byteQueue.ts';
import { BrokenChannel, type Frame, MOST_DATA_BYTES } from './relayFrames.ts';

/** How much a side may send before it is given credit; `relay.c` has the same numbers. */
export const TO_RELAY_BYTES = 256 * 1024;
const TO_HOST_BYTES = 64 * 1024;

/** How many bytes are read before the relay is told. */
const CREDIT_BYTES = TO_HOST_BYTES / 4;

/** What a connection needs of the channel that carries it. */
export interface Carrier {
  say(kind: 'credit' | 'end' | 'reset', id: number, value?: number): void;
  /** There is something to write, and credit for it. */
  enqueue(connection: RelayConnection): void;
  /** Both sides have said their last word: the number is free. */
  over(id: number): void;
}

interface Writing {
  rest: Uint8Array;
  readonly done: (error?: Error | null) => void;
}

/** One connection that a relay carries, as a stream with both its halves. */
export class RelayConnection extends Duplex {
  readonly id: number;
  readonly #carrier: Carrier;
  readonly #queue = new ByteQueue();
  #wanted = false;
  #said = { end: false, reset: false };
  #heard = { end: false, reset: false };
  /** What the relay may still send, and what was read of it since it was last told. */
  #window = TO_HOST_BYTES;
  #taken = 0;
  #credit = TO_RELAY_BYTES;
  #writing: Writing | undefined;
  #isLost = false;

  constructor(id: number, carrier: Carrier) {
    // One piece at a time: what nobody reads is kept here, where it is counted by the byte.
    super({ allowHalfOpen: true, readableHighWaterMark: 1, writableHighWaterMark: MOST_DATA_BYTES });
    this.id = id;
    this.#carrier = carrier;
    // A program can break its connection at any time; that must not end a process which does not listen for it.
    this.on('error', () => {});
  }

  /** We have given it up, and the relay has not said its last word yet. */
  get isGivenUp(): boolean {
    return this.#said.reset;
  }

  /** Takes a frame that the relay says of this connection. Throws {@link BrokenChannel}. */
  takeFrame(frame: Frame): void {
    if (frame.kind === 'data') this.#takeData(frame.data);
    else if (frame.kind === 'credit') this.#takeCredit(frame.value);
    else if (frame.kind === 'end') this.#takeEnd();
    else if (frame.kind === 'reset') this.takeReset('ECONNRESET', 'The program has broken the connection.');
    else throw new BrokenChannel(`${frame.kind} for an open connection`);
  }

  /** The relay's last word. */
  takeReset(code: string, message: string): void {
    if (this.#heard.reset) throw new BrokenChannel('a second end of a connection');
    this.#heard.reset = true;
    const isOrderly = this.#said.end && this.#heard.end;
    if (this.#said.reset) this.#carrier.over(this.id);
    else if (!isOrderly) this.destroy(connectionError(code, message));
  }

  /** The relay has ended. What had been sent to its end before is still read; what is written goes nowhere. */
  lose(error: Error): void {
    if (!this.#heard.end || this.#queue.isEmpty) {
      this.destroy(error);
      return;
    }
    this.#isLost = true;
    this.once('end', () => this.destroy(error));
    const writing = this.#writing;
    this.#writing = undefined;
    writing?.done();
  }

  /** The next bytes to send, for which there is credit; the connection has to be enqueued again for more. */
  next(): { readonly data: Uint8Array; readonly sent: () => void } | undefined {
    const writing = this.#writing;
    const length = Math.min(this.#credit, MOST_DATA_BYTES);
    if (writing === undefined || length === 0) return undefined;
    const data = writing.rest.subarray(0, length);
    writing.rest = writing.rest.subarray(length);
    this.#credit -= data.length;
    if (writing.rest.length > 0) return { data, sent: () => {} };
    // Only once it is written: the buffer may be used anew.
    return {
      data,
      sent: () => {
        if (this.#writing !== writing) return;
        this.#writing = undefined;
        writing.done();
      },
    };
  }

  get hasMore(): boolean {
    return this.#writing !== undefined && this.#writing.rest.length > 0 && this.#credit > 0;
  }

  override _read(): void {
    this.#wanted = true;
    this.#deliver();
  }

  override _write(chunk: Uint8Array, _encoding: string, done: (error?: Error | null) => void): void {
    if (chunk.length === 0 || this.#isLost) {
      done();
      return;
    }
    this.#writing = { rest: chunk, done };
    if (this.hasMore) this.#carrier.enqueue(this);
  }

  override _writev(chunks: { chunk: Uint8Array }[], done: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'buffer', done);
  }

  override _final(done: () => void): void {
    this.#said.end = true;
    if (!this.#said.reset) this.#carrier.say('end', this.id);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#queue.clear();
    const writing = this.#writing;
    this.#writing = undefined;
    writing?.done(error ?? connectionError('ECONNABORTED', 'The connection was given up.'));
    this.#said.reset = true;
    this.#carrier.say('reset', this.id);
    if (this.#heard.reset) this.#carrier.over(this.id);
    done(error);
  }

  #takeData(data: Uint8Array): void {
    if (this.#heard.end || this.#heard.reset) throw new BrokenChannel('data after their end');
    this.#window -= data.length;
    if (this.#window < 0) throw new BrokenChannel('more data than there was credit for');
    if (this.#said.reset) return;
    this.#queue.add(data);
    this.#deliver();
  }

  #takeCredit(more: number): void {
    if (this.#heard.reset || more === 0 || this.#credit + more > TO_RELAY_BYTES) {
      throw new BrokenChannel('credit that nobody can have');
    }
    const had = this.#credit;
    this.#credit += more;
    if (had === 0 && this.hasMore) this.#carrier.enqueue(this);
  }

  #takeEnd(): void {
    if (this.#heard.end || this.#heard.reset) throw new BrokenChannel('a second end');
    this.#heard.end = true;
    this.#deliver();
  }

  #deliver(): void {
    while (this.#wanted) {
      const data = this.#queue.take();
      if (data === undefined) break;
      // Before it is pushed: that may ask for more at once.
      this.#wanted = false;
      this.#giveCredit(data.length);
      this.#wanted = this.push(data) || this.#wanted;
    }
    if (!this.#wanted || !this.#heard.end) return;
    this.#wanted = false;
    this.push(null);
  }

  #giveCredit(taken: number): void {
    this.#taken += taken;
    if (this.#taken < CREDIT_BYTES || this.#heard.end || this.#said.reset) return;
    this.#window += this.#taken;
    this.#carrier.say('credit', this.id, this.#taken);
    this.#taken = 0;
  }
}

/** An error as a socket of Node's would have it. */
export function connectionError(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}
