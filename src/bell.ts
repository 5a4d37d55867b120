/** Wakes whoever waits for news; who is not waiting at that moment has to look for himself first. */
export class Bell {
  #next: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  /** Settles at the next ring. */
  rung(): Promise<void> {
    this.#next ??= withResolver();
    return this.#next.promise;
  }

  ring(): void {
    this.#next?.resolve();
    this.#next = undefined;
  }
}

function withResolver(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
