interface Drainable {
  drain(): Promise<void>;
}

/** A process has one end: one listener drains all, however many pools there are. */
const waiting = new Set<Drainable>();

/** Drains it when this process has nothing else to do; guests that wait do not keep it alive. */
export function drainAtExit(pool: Drainable): void {
  if (waiting.size === 0) process.on('beforeExit', drainAll);
  waiting.add(pool);
}

/** It has been drained. */
export function needNotDrainAtExit(pool: Drainable): void {
  if (!waiting.delete(pool) || waiting.size > 0) return;
  process.off('beforeExit', drainAll);
}

function drainAll(): void {
  for (const pool of waiting) {
    pool
      .drain()
      .catch((error: unknown) => process.emitWarning(error instanceof Error ? error : String(error)));
  }
}
