/** What there is to do, from any iterable: read only when somebody asks for more. */
export type Source<Item> = Iterable<Item> | AsyncIterable<Item>;

export interface Taken<Item> {
  readonly item: Item;
  /** How many were taken before. */
  readonly index: number;
}

/** Hands the items of a source to whoever asks, one after another, and asks it for none ahead. */
export class Feed<Item> {
  readonly #items: Iterator<Item> | AsyncIterator<Item>;
  #turn: Promise<unknown> = Promise.resolve();
  #count = 0;
  #isOver = false;
  #stopWaiting: () => void = () => {};

  constructor(source: Source<Item>) {
    this.#items = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  }

  /** The next item; undefined when there is none, or no more is wanted. Rejects, once, with what the source throws. */
  next(): Promise<Taken<Item> | undefined> {
    const taken = this.#turn.then(() => this.#take());
    this.#turn = taken.catch(() => {});
    return taken;
  }

  /** Whoever waits for an item gets none, even where the source never answers. The source is told. */
  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopWaiting();
    // It may be busy for as long as it likes, and what it says then comes too late.
    void (async () => this.#items.return?.())().catch(() => {});
  }

  async #take(): Promise<Taken<Item> | undefined> {
    if (this.#isOver) return undefined;
    const stopped = new Promise<undefined>((resolve) => {
      this.#stopWaiting = () => resolve(undefined);
    });
    try {
      const step = await Promise.race([this.#items.next(), stopped]);
      if (step === undefined) return undefined;
      if (step.done !== true) return { item: step.value, index: this.#count++ };
      this.#isOver = true;
      return undefined;
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
  }
}
