/** Where small pieces are gathered: somebody may send a byte at a time, and an object for each would cost more. */
const BLOCK_BYTES = 4096;

/** Bytes in the order in which they came, in copies, with little beyond their length. */
export class ByteQueue {
  readonly #full: Buffer[] = [];
  #block = Buffer.alloc(0);
  #used = 0;

  get isEmpty(): boolean {
    return this.#used === 0 && this.#full.length === 0;
  }

  add(data: Uint8Array): void {
    const fits = Math.min(data.length, this.#block.length - this.#used);
    this.#block.set(data.subarray(0, fits), this.#used);
    this.#used += fits;
    if (fits === data.length) return;
    if (this.#used > 0) this.#full.push(this.#block);
    const rest = data.subarray(fits);
    this.#block = Buffer.allocUnsafeSlow(Math.max(rest.length, BLOCK_BYTES));
    this.#block.set(rest);
    this.#used = rest.length;
  }

  /** The first bytes that are left, some at least; they are the taker's own. */
  take(): Buffer | undefined {
    const first = this.#full.shift();
    if (first !== undefined) return first;
    if (this.#used === 0) return undefined;
    const last = this.#block.subarray(0, this.#used);
    this.clear();
    return last;
  }

  clear(): void {
    this.#full.length = 0;
    this.#block = Buffer.alloc(0);
    this.#used = 0;
  }
}
