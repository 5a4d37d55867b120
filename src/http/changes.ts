/** What has changed, without saying how. */
export type Change = 'questions' | 'sandboxes' | 'executions' | 'grants';

/** Whoever wants to know of changes; what a listener throws keeps nobody else from being told. */
export class Changes {
  readonly #listeners = new Set<(change: Change) => void>();

  tell(change: Change): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        process.emitWarning(error instanceof Error ? error : String(error));
      }
    }
  }

  /** Until the function that it returns is called. */
  watch(listener: (change: Change) => void): () => void {
    // One function may listen more than once.
    const own = (change: Change): void => listener(change);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }
}
