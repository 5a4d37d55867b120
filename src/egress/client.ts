import type { Duplex } from 'node:stream';
import type { Authority } from './host.ts';
import type { ProxyLimits } from './limits.ts';

/** Requests that may wait behind one another on a connection; nobody who means well sends more. */
const MOST_PENDING = 16;

/** One connection from inside, with what bounds its life. */
export class Client {
  readonly stream: Duplex;
  /** The name that an open tunnel of plain HTTP is to. */
  tunnel: Authority | undefined;
  readonly #limits: ProxyLimits;
  readonly #gone = new AbortController();
  #waiting: NodeJS.Timeout | undefined;
  #pending = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(stream: Duplex, limits: ProxyLimits) {
    this.stream = stream;
    this.#limits = limits;
    const total = this.#endAfter(limits.totalSec);
    let linger: NodeJS.Timeout | undefined;
    stream.once('finish', () => {
      linger = this.#endAfter(limits.lingerSec);
    });
    stream.once('close', () => {
      clearTimeout(total);
      clearTimeout(linger);
      clearTimeout(this.#waiting);
      this.#gone.abort();
    });
    this.waitForRequest();
  }

  /** Aborted when the connection is closed. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Is a request of this connection not answered yet? */
  get busy(): boolean {
    return this.#pending > 0;
  }

  /** The next request has to be complete within a time from now. */
  waitForRequest(): void {
    clearTimeout(this.#waiting);
    if (!this.stream.destroyed) this.#waiting = this.#endAfter(this.#limits.requestSec);
  }

  /** Does this for a request when all before it are done. `serve` must not reject. */
  enqueue(serve: () => Promise<void>): void {
    if (this.#pending >= MOST_PENDING) {
      this.stream.destroy();
      return;
    }
    this.#pending += 1;
    clearTimeout(this.#waiting);
    this.#last = this.#last.then(serve).then(() => {
      this.#pending -= 1;
      if (this.#pending === 0) this.waitForRequest();
    });
  }

  #endAfter(seconds: number): NodeJS.Timeout {
    return setTimeout(() => this.stream.destroy(), seconds * 1000).unref();
  }
}
