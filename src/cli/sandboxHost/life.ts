/** When a background process is of use: as long as it has a sandbox, or somebody is making one. */
export class HostLife {
  readonly #count: () => number;
  readonly #end: () => void;
  readonly #firstCall: NodeJS.Timeout;
  #making = 0;
  #ending = false;

  /** `end` is called once: when the last sandbox is gone, or when nobody makes one soon after the start. */
  constructor({ count, end, firstCallMs }: { count: () => number; end: () => void; firstCallMs: number }) {
    this.#count = count;
    this.#end = end;
    this.#firstCall = setTimeout(() => this.look(), firstCallMs);
  }

  /** Nothing more is taken on. */
  get ending(): boolean {
    return this.#ending;
  }

  /** Runs what makes a sandbox: the process does not end under it. */
  async making<T>(make: () => Promise<T>): Promise<T> {
    this.#making++;
    try {
      return await make();
    } finally {
      this.#making--;
      this.look();
    }
  }

  /** To be called whenever a sandbox has gone. */
  look(): void {
    if (this.#ending || this.#making > 0 || this.#count() > 0) return;
    this.stop();
  }

  /** Ends it in any case. */
  stop(): void {
    if (this.#ending) return;
    this.#ending = true;
    clearTimeout(this.#firstCall);
    this.#end();
  }
}
