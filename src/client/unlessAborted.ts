/** Rejects at once with the signal's reason; what nobody waits for any more is undone when it is there. */
export async function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
  undo: () => Promise<void>,
): Promise<Result> {
  if (signal === undefined) return work;
  const over = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: over.signal });
  });
  try {
    return await Promise.race([work, aborted]);
  } catch (error) {
    // What was not made need not be undone, and what cannot be undone now expires.
    if (signal.aborted) undo().catch(() => {});
    throw error;
  } finally {
    over.abort();
  }
}
