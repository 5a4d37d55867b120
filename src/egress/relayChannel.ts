/**
 * Our side of a relay's channel. The other side is `src/runtimes/relay/relay.c`, or a program that has taken its
 * place: it comes from inside a sandbox, so not one byte of it is believed.
 *
 * - Whatever no relay of ours would say ends the channel with all its connections: a frame that is unknown, too
 *   long, or of no open connection; data or credit beyond the window; an end after the end.
 * - What it sends faster than it is read is at most 64 KB for each of 256 connections; what it makes us say and
 *   does not listen to is at most 256 KB.
 * - It knows nothing of us but what it is told: the ports that we connect to, and the bytes of its connections.
 *
 * A frame is its type (1 byte), the connection (4), the length of what follows (4), and that; little-endian.
 * HELLO with the version is the first. OPEN begins a connection: the relay's have odd numbers, ours have even ones,
 * a port, and OPENED or REFUSED (error) as an answer. DATA takes from the window of its direction, 256 KB towards
 * the relay and 64 KB towards us, which CREDIT gives back. END is a half-close. RESET is the last that a side says of a connection,
 * in good order when both have said END; when both have said RESET, or the relay REFUSED, the number is free.
 */
import type { Duplex } from 'node:stream';
import { getSystemErrorName } from 'node:util';
import { SandboxError } from '../errors.ts';
import type { Relay, RelayStreams, RelayWish } from '../runtimes/runtime.ts';
import { type Carrier, connectionError, RelayConnection } from './relayConnection.ts';
import { BrokenChannel, type Frame, FrameReader, signalFrame } from './relayFrames.ts';
import { RelayWriter } from './relayWriter.ts';

const VERSION = 1;
/** How many connections the relay has room for: those that programs make, and ours. */
const THEIRS = 256;
const OURS = 64;

const CONNECT_DEADLINE_MS = 10_000;
const HELLO_DEADLINE_SEC = 10;
/** How long one that does not hear us any more may take to say its last. */
const LAST_WORDS_MS = 1000;

export interface RelayWishOptions {
  /** See `RelayWish`. */
  readonly port: number;
  /** Takes each connection that a program inside makes to that port; it has to end it, or to destroy it. */
  readonly onConnection: (connection: Duplex) => void;
  /** How long a relay may take to say that it is ready: 10 seconds. */
  readonly helloDeadlineSec?: number;
}

/** A wish for relays that hand every connection to `onConnection`. Each relay that is attached has a channel of its own. */
export function relayWish(options: RelayWishOptions): RelayWish {
  const { port, onConnection, helloDeadlineSec = HELLO_DEADLINE_SEC } = options;
  return {
    port,
    async attach(streams) {
      const channel = new RelayChannel(streams, port === 0 ? undefined : onConnection);
      await channel.ready(helloDeadlineSec);
      return channel;
    },
  };
}

interface Asked {
  readonly resolve: (connection: Duplex) => void;
  readonly reject: (error: Error) => void;
}

class RelayChannel implements Relay, Carrier {
  readonly closed: Promise<void>;
  readonly #streams: RelayStreams;
  readonly #onConnection: ((connection: Duplex) => void) | undefined;
  readonly #writer: RelayWriter;
  readonly #connections = new Map<number, RelayConnection>();
  /** Those that we have asked for, until there is an answer. */
  readonly #asked = new Map<number, Asked>();
  /** Those that we gave up before there was an answer. */
  readonly #abandoned = new Set<number>();
  readonly #greeted = settleable();
  readonly #gone = settleable();
  #ending: NodeJS.Timeout | undefined;
  #isGreeted = false;
  #isClosed = false;

  constructor(streams: RelayStreams, onConnection: ((connection: Duplex) => void) | undefined) {
    this.#streams = streams;
    this.#onConnection = onConnection;
    this.#writer = new RelayWriter(streams.input);
    this.closed = this.#gone.promise;
    this.#greeted.promise.catch(() => {});
    // EPIPE: the relay is gone; what it said before may still have to be read.
    for (const event of ['error', 'close'] as const) streams.input.on(event, () => this.#endSoon());
    this.#listen().catch(() => {});
  }

  async ready(deadlineSec: number): Promise<void> {
    const timer = setTimeout(() => this.#end(`it said nothing for ${deadlineSec} s`), deadlineSec * 1000);
    try {
      await this.#greeted.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  async connect(port: number): Promise<Duplex> {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new SandboxError('INPUT_INVALID', `${port} is no port.`, {
        hint: 'Use a number from 1 to 65535.',
      });
    }
    if (this.#isClosed) throw connectionError('ECONNRESET', 'The relay of this sandbox is gone.');
    const id = this.#freeId();
    const connection = this.#newConnection(id);
    const answer = new Promise<Duplex>((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
    });
    const timer = setTimeout(() => {
      this.#refuse(id, connectionError('ETIMEDOUT', `Port ${port} in the sandbox does not answer.`));
      this.#abandoned.add(id);
      connection.destroy();
    }, CONNECT_DEADLINE_MS);
    this.#say(signalFrame('open', id, port));
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#end('it was closed');
  }

  say(kind: 'credit' | 'end' | 'reset', id: number, value?: number): void {
    this.#say(signalFrame(kind, id, value));
  }

  enqueue(connection: RelayConnection): void {
    if (!this.#isClosed) this.#writer.enqueue(connection);
  }

  over(id: number): void {
    this.#connections.delete(id);
    this.#abandoned.delete(id);
  }

  async #listen(): Promise<void> {
    const reader = new FrameReader();
    try {
      for await (const chunk of this.#streams.output) {
        for (const frame of reader.read(chunk)) {
          if (this.#isClosed) return;
          this.#take(frame);
        }
      }
      this.#end('it ended', (connection, error) => connection.lose(error));
    } catch (error) {
      this.#end(
        error instanceof BrokenChannel ? `it said what it must not: ${error.message}` : String(error),
      );
    }
  }

  #take(frame: Frame): void {
    if (!this.#isGreeted) this.#takeHello(frame);
    else if (frame.kind === 'open') this.#takeOpen(frame.id);
    else if (frame.kind === 'opened' || frame.kind === 'refused') this.#takeAnswer(frame);
    else this.#takeOther(frame);
  }

  #takeHello(frame: Frame): void {
    if (frame.kind !== 'hello' || frame.id !== 0) throw new BrokenChannel(`${frame.kind} as its first word`);
    if (frame.value !== VERSION) throw new BrokenChannel(`version ${frame.value}`);
    this.#isGreeted = true;
    this.#greeted.resolve();
  }

  #takeOpen(id: number): void {
    if (this.#onConnection === undefined) throw new BrokenChannel('a connection where it does not listen');
    if (id % 2 === 0 || id > 2 * THEIRS || this.#connections.has(id)) {
      throw new BrokenChannel(`a connection with the number ${id}`);
    }
    const connection = this.#newConnection(id);
    try {
      this.#onConnection(connection);
    } catch (error) {
      connection.destroy(error as Error);
    }
  }

  #takeAnswer({ kind, id, value }: Frame & { value: number }): void {
    const connection = this.#connections.get(id);
    const asked = this.#asked.get(id);
    if (connection === undefined || (asked === undefined && !this.#abandoned.delete(id))) {
      throw new BrokenChannel(`an answer for the number ${id}`);
    }
    if (kind === 'opened') {
      this.#asked.delete(id);
      asked?.resolve(connection);
      return;
    }
    const name = errorName(value);
    const message = `Nobody can be reached at that port in the sandbox: ${name}.`;
    this.#refuse(id, connectionError(name, message));
    connection.takeReset(name, message);
  }

  #takeOther(frame: Exclude<Frame, { kind: 'opened' | 'refused' | 'open' }>): void {
    const connection = this.#connections.get(frame.id);
    if (connection === undefined || this.#asked.has(frame.id)) {
      throw new BrokenChannel(`${frame.kind} for the number ${frame.id}`);
    }
    connection.takeFrame(frame);
  }

  #newConnection(id: number): RelayConnection {
    const connection = new RelayConnection(id, this);
    this.#connections.set(id, connection);
    return connection;
  }

  #freeId(): number {
    for (let id = 2; id <= 2 * OURS; id += 2) if (!this.#connections.has(id)) return id;
    throw connectionError('EAGAIN', `There are ${OURS} connections to ports of this sandbox already.`);
  }

  #refuse(id: number, error: Error): void {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    asked?.reject(error);
  }

  #say(frame: Buffer): void {
    if (this.#isClosed || this.#writer.say(frame)) return;
    this.#end('it does not listen');
  }

  /** It hears nothing any more. */
  #endSoon(): void {
    if (this.#isClosed) return;
    this.#ending ??= setTimeout(() => this.#end('its standard input was closed'), LAST_WORDS_MS);
  }

  #end(
    reason: string,
    give = (connection: RelayConnection, error: Error): unknown => connection.destroy(error),
  ): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#ending);
    this.#writer.close();
    this.#streams.output.destroy();
    this.#greeted.reject(relayFailed(reason));
    const error = connectionError('ECONNRESET', `The relay of this sandbox is gone: ${reason}.`);
    for (const id of [...this.#asked.keys()]) this.#refuse(id, error);
    for (const connection of [...this.#connections.values()]) give(connection, error);
    this.#connections.clear();
    this.#gone.resolve();
  }
}

interface Settleable {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

function settleable(): Settleable {
  let settle: Omit<Settleable, 'promise'> | undefined;
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...(settle as unknown as Omit<Settleable, 'promise'>) };
}

function errorName(number: number): string {
  return number > 0 && number < 4096 ? getSystemErrorName(-number) : 'EIO';
}

function relayFailed(reason: string): SandboxError {
  return new SandboxError(
    'SANDBOX_FAILED',
    `The relay into the sandbox's network did not start: ${reason}.`,
    {
      hint: 'Run: glovebox doctor',
    },
  );
}
