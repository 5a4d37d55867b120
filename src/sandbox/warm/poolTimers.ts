import { REFILL_WITHIN_MS } from './poolOptions.ts';

/** When a pool makes what is missing, and when it looks for what nobody needs. None of it keeps a process alive. */
export class PoolTimers {
  readonly #refill: () => void;
  readonly #sweep: () => void;
  readonly #sweepMs: number;
  #behind: NodeJS.Immediate | undefined;
  #unlessTaken: NodeJS.Immediate | undefined;
  #soon: NodeJS.Timeout | undefined;
  #sweeping: NodeJS.Timeout | undefined;

  constructor({ refill, sweep, idleSec }: { refill: () => void; sweep: () => void; idleSec: number }) {
    this.#refill = refill;
    this.#sweep = sweep;
    // Four times in the life of what is not used.
    this.#sweepMs = Math.max(20, idleSec * 250);
  }

  /** Behind what is handed on now: the event loop turns first. */
  refillBehind(): void {
    if (this.#behind !== undefined) return;
    this.#behind = setImmediate(() => {
      this.#behind = undefined;
      this.refillNow();
    });
    this.#behind.unref();
  }

  /** Behind what is handed on now, unless that lets an execution begin: then soon enough behind that. */
  refillUnlessTaken(): void {
    this.#unlessTaken ??= setImmediate(() => this.refillNow()).unref();
  }

  /** Behind what goes on, unless that takes long. */
  refillSoon(): void {
    clearImmediate(this.#unlessTaken);
    this.#unlessTaken = undefined;
    this.#soon ??= setTimeout(() => this.refillNow(), REFILL_WITHIN_MS).unref();
  }

  refillNow(): void {
    clearTimeout(this.#soon);
    clearImmediate(this.#unlessTaken);
    this.#soon = undefined;
    this.#unlessTaken = undefined;
    this.#refill();
  }

  sweepSometimes(): void {
    this.#sweeping ??= setInterval(this.#sweep, this.#sweepMs).unref();
  }

  stop(): void {
    clearInterval(this.#sweeping);
    clearTimeout(this.#soon);
    clearImmediate(this.#behind);
    clearImmediate(this.#unlessTaken);
    this.#unlessTaken = undefined;
    this.#sweeping = undefined;
    this.#soon = undefined;
    this.#behind = undefined;
  }
}
