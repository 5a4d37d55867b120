import { setTimeout as delay } from 'node:timers/promises';

/** Looks until it is so, for what nobody tells us about; rejects with `what` after the deadline. */
export async function eventually(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  { deadlineMs = 10_000 }: { readonly deadlineMs?: number } = {},
): Promise<void> {
  for (const deadline = Date.now() + deadlineMs; !(await isSo()); ) {
    if (Date.now() > deadline) throw new Error(`Not within ${deadlineMs} ms: ${what}`);
    await delay(10);
  }
}
