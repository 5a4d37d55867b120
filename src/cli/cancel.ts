/** Ctrl-C and its like cancel what is going on, by its signal; nothing is left behind then. */
export function cancelOnSignals(): { readonly signal: AbortSignal; dispose(): void } {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.on(name, abort);
  return {
    signal: controller.signal,
    dispose() {
      for (const name of signals) process.off(name, abort);
    },
  };
}
