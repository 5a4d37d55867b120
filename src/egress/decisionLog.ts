import type { Socket } from 'node:net';
import type { DecisionListeners, NetworkDecision, Passing } from './decision.ts';
import { Recording } from './recording.ts';
import type { Refusal } from './refusal.ts';

/** What is known of a request before it is judged. */
export type Subject = Pick<NetworkDecision, 'host' | 'port' | 'via' | 'method'>;

/** Keeps the first decisions up to a number, counts the others, and tells a listener each one when it is finished. */
export class DecisionLog {
  readonly #entries: Entry[] = [];
  readonly #most: number;
  readonly #listener: DecisionListeners['onDecision'];
  readonly #recordings = new Set<Recording>();
  #dropped = 0;

  constructor(most: number, listener?: DecisionListeners['onDecision']) {
    this.#most = most;
    this.#listener = listener;
  }

  /** Connections that are still open are in it with what passed so far. */
  list(): NetworkDecision[] {
    return this.#entries.map((entry) => entry.snapshot());
  }

  /** How many decisions were made that are not in the list. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Notes what comes from now on by itself. */
  record(): Recording {
    const recording = new Recording(this.#most, (ended) => this.#recordings.delete(ended));
    this.#recordings.add(recording);
    return recording;
  }

  /** Something passes, over this connection; {@link Entry.finish} says when it is over. */
  allow(subject: Subject, socket: Socket, passing?: Passing): Entry {
    return this.#add(new Entry(subject, socket, undefined, this.#listenerOf(passing)));
  }

  /** Something does not pass, or came to nothing after it was let pass. */
  refuse(subject: Subject, refusal: Refusal, passing?: Passing): void {
    this.#add(new Entry(subject, undefined, refusal, this.#listenerOf(passing))).finish();
  }

  #listenerOf(passing: Passing | undefined): (decision: NetworkDecision) => void {
    return (decision) => this.#listener?.(decision, passing);
  }

  #add(entry: Entry): Entry {
    if (this.#entries.length < this.#most) this.#entries.push(entry);
    else this.#dropped += 1;
    for (const recording of this.#recordings) recording.add(entry);
    return entry;
  }
}

export class Entry {
  /** Resolves when its numbers are final. */
  readonly over: Promise<void>;
  #resolveOver: () => void = () => {};
  readonly #subject: Subject;
  readonly #at = new Date();
  readonly #started = performance.now();
  readonly #listener: (decision: NetworkDecision) => void;
  readonly #address: string | undefined;
  #socket: Socket | undefined;
  #refusal: Refusal | undefined;
  #final: NetworkDecision | undefined;

  constructor(
    subject: Subject,
    socket: Socket | undefined,
    refusal: Refusal | undefined,
    listener: (decision: NetworkDecision) => void,
  ) {
    this.#subject = subject;
    this.#socket = socket;
    // A closed socket forgets it.
    this.#address = socket?.remoteAddress ?? refusal?.address;
    this.#refusal = refusal;
    this.#listener = listener;
    this.over = new Promise((resolve) => {
      this.#resolveOver = resolve;
    });
  }

  /** It is over, as it should or for this reason; only the first time counts. */
  finish(refusal?: Refusal): void {
    if (this.#final !== undefined) return;
    this.#refusal ??= refusal;
    const final = this.snapshot();
    this.#final = final;
    this.#socket = undefined;
    this.#resolveOver();
    // In a turn of its own: what a listener throws is its own bug and not to be met in the middle of a connection.
    queueMicrotask(() => this.#listener(final));
  }

  get isOver(): boolean {
    return this.#final !== undefined;
  }

  snapshot(): NetworkDecision {
    if (this.#final !== undefined) return this.#final;
    const refusal = this.#refusal;
    return {
      at: this.#at.toISOString(),
      ...this.#subject,
      allowed: refusal?.allowed ?? true,
      ...(refusal && { code: refusal.code, reason: refusal.message }),
      ...(this.#address !== undefined && { address: this.#address }),
      bytesUp: this.#socket?.bytesWritten ?? 0,
      bytesDown: this.#socket?.bytesRead ?? 0,
      durationSec: Math.round(performance.now() - this.#started) / 1000,
    };
  }
}
