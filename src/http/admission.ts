/** How many executions run at a time, and who is next. */
import { SandboxError } from '../errors.ts';

export interface AdmissionOptions {
  /** How many run at a time. */
  readonly running: number;
  /** How many wait besides. */
  readonly queue: number;
}

/** A place; whoever has it gives it back. */
export interface Place {
  /** Resolves when it may begin; rejects with the signal's reason. */
  readonly ready: Promise<void>;
  leave(): void;
}

interface Waiting {
  readonly key: string;
  readonly begin: () => void;
}

/**
 * Of the queue one key has at most half, and a place that becomes free goes to the key that has the fewest running, of
 * these to whoever came first: one that asks for much waits longer, and keeps nobody out.
 */
export class Admission {
  readonly #most: AdmissionOptions;
  readonly #running = new Map<string, number>();
  #waiting: Waiting[] = [];
  #count = 0;

  constructor(most: AdmissionOptions) {
    this.#most = most;
  }

  get running(): number {
    return this.#count;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Throws `QUOTA_EXCEEDED` when there is no room to wait. */
  enter(key: string, signal: AbortSignal): Place {
    let isIn = false;
    let isGone = false;
    const begin = (): void => {
      isIn = true;
      this.#count++;
      this.#running.set(key, (this.#running.get(key) ?? 0) + 1);
    };
    const leave = (): void => {
      if (isGone) return;
      isGone = true;
      if (isIn) this.#leave(key);
    };
    if (this.#count < this.#most.running) {
      begin();
      return { ready: Promise.resolve(), leave };
    }
    this.#assertRoom(key);
    const ready = new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        key,
        begin: () => {
          signal.removeEventListener('abort', giveUp);
          begin();
          resolve();
        },
      };
      const giveUp = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        reject(signal.reason);
      };
      this.#waiting.push(waiting);
      if (signal.aborted) giveUp();
      else signal.addEventListener('abort', giveUp, { once: true });
    });
    return { ready, leave };
  }

  #assertRoom(key: string): void {
    const own = this.#waiting.filter((waiting) => waiting.key === key).length;
    const isFull = this.#waiting.length >= this.#most.queue;
    if (!isFull && own < Math.ceil(this.#most.queue / 2)) return;
    throw new SandboxError(
      'QUOTA_EXCEEDED',
      isFull
        ? `The server is full: ${this.#count} executions run and ${this.#waiting.length} wait.`
        : `This key has ${own} executions in the queue; the other half is for others.`,
      {
        hint: 'Ask again in a moment, or have the operator allow more (--max-executions, --max-queue).',
        details: { running: this.#count, waiting: this.#waiting.length, retry_after_sec: 1 },
      },
    );
  }

  #leave(key: string): void {
    this.#count--;
    const left = (this.#running.get(key) ?? 1) - 1;
    if (left > 0) this.#running.set(key, left);
    else this.#running.delete(key);
    const [next] = [...this.#waiting].sort((a, b) => this.#runningOf(a) - this.#runningOf(b));
    if (next === undefined) return;
    this.#waiting = this.#waiting.filter((waiting) => waiting !== next);
    next.begin();
  }

  #runningOf({ key }: Waiting): number {
    return this.#running.get(key) ?? 0;
  }
}
