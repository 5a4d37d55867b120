import { setMaxListeners } from 'node:events';

/**
 * Does something once when a signal aborts, at once when it has already; returns what takes that back. One signal may
 * have any number of these: whoever runs a thousand programs may cancel all of them by one.
 */
export function onAbort(signal: AbortSignal | undefined, action: () => void): () => void {
  if (signal === undefined) return () => {};
  // Node.js takes more than ten listeners for a leak, and says so on the user's terminal.
  setMaxListeners(0, signal);
  // Not the action itself: it would be handed the event, which one with an optional parameter takes for its own.
  const listener = (): void => action();
  signal.addEventListener('abort', listener, { once: true });
  if (signal.aborted) action();
  return () => signal.removeEventListener('abort', listener);
}
