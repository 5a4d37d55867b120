export interface LifeSpan {
  /** Seconds from its making; absent: no end of its own. */
  readonly lifetimeSec?: number;
  /** Seconds in which nobody calls and nothing runs; absent: any time. */
  readonly idleSec?: number;
}

/** How long a sandbox lives, and when it was last of use. Its timers keep no process alive. */
export class Life {
  readonly createdAt = new Date();
  readonly expiresAt: Date | undefined;
  #lastUsedAt = this.createdAt;
  readonly #idleSec: number | undefined;
  readonly #over: (reason: 'expired' | 'idle') => void;
  readonly #end: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #busy = 0;
  #stopped = false;

  constructor({ lifetimeSec, idleSec }: LifeSpan, over: (reason: 'expired' | 'idle') => void) {
    this.#over = over;
    this.#idleSec = idleSec;
    if (lifetimeSec !== undefined) {
      this.expiresAt = new Date(this.createdAt.getTime() + lifetimeSec * 1000);
      this.#end = setTimeout(() => over('expired'), lifetimeSec * 1000).unref();
    }
    this.#waitForUse();
  }

  get lastUsedAt(): Date {
    return this.#lastUsedAt;
  }

  /** Something goes on; it is over when the returned function is called. */
  begin(): () => void {
    this.#busy++;
    this.#lastUsedAt = new Date();
    clearTimeout(this.#idle);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#busy--;
      this.#lastUsedAt = new Date();
      if (this.#busy === 0) this.#waitForUse();
    };
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#end);
    clearTimeout(this.#idle);
  }

  #waitForUse(): void {
    if (this.#stopped || this.#idleSec === undefined) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#over('idle'), this.#idleSec * 1000).unref();
  }
}
