import { closeSync, openSync } from 'node:fs';

/**
 * The network that the programs of one sandbox share: a namespace with nothing but a loopback in it. The first program
 * makes it, with its own namespaces; a descriptor of ours then keeps it, and later programs enter it.
 */
export class SharedNetwork {
  #kept: Promise<number | undefined> | undefined;
  #closed = false;

  /**
   * Calls `start` with the descriptor to enter, or without one for whoever is first: that one tells the pid of a
   * process in the namespace that it made, while that process runs. Others wait for it.
   */
  async use<T>(
    start: (descriptor: number | undefined, made: (pid: number) => void) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const known = this.#kept;
      if (known === undefined) return this.#make(start);
      const descriptor = await known;
      if (descriptor !== undefined) return start(descriptor, () => {});
      // Nobody was in it any more before it could be kept: so it holds nothing, and a new one is as good.
      if (this.#kept === known) this.#kept = undefined;
    }
  }

  /** Gives it up; the kernel frees it with the last process in it. */
  async close(): Promise<void> {
    this.#closed = true;
    const descriptor = await this.#kept;
    this.#kept = undefined;
    if (descriptor !== undefined) closeSync(descriptor);
  }

  async #make<T>(start: (descriptor: undefined, made: (pid: number) => void) => Promise<T>): Promise<T> {
    let settle: (descriptor: number | undefined) => void = () => {};
    this.#kept = new Promise((resolve) => {
      settle = resolve;
    });
    try {
      return await start(undefined, (pid) => settle(this.#closed ? undefined : keep(pid)));
    } finally {
      settle(undefined);
    }
  }
}

/** Undefined when the process is gone already. */
function keep(pid: number): number | undefined {
  try {
    return openSync(`/proc/${pid}/ns/net`, 'r');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}
