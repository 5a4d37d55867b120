import type { Readable } from 'node:stream';

/** What a launcher, or the program that it became, says on its status descriptor. */
export interface Status {
  /** Resolves to true when the launcher waits for its orders, to false when it ended before. */
  readonly ready: Promise<boolean>;
  /** Why the launcher gave up; undefined when it did not. */
  readonly failure: Promise<string | undefined>;
  /** Resolves to what the pattern's group matches, as soon as that is there; to undefined when it never comes. */
  find(pattern: RegExp): Promise<string | undefined>;
}

/** Reads the status descriptor to its end: JSON documents one after another, which may go over several lines. */
export function readStatus(stream: Readable): Status {
  let text = '';
  let ended = false;
  const waiting = new Set<() => void>();
  const tell = (): void => {
    for (const look of waiting) look();
  };
  stream.on('data', (chunk) => {
    text += String(chunk);
    tell();
  });
  for (const event of ['close', 'error'] as const) {
    stream.once(event, () => {
      ended = true;
      tell();
    });
  }
  const find = (pattern: RegExp): Promise<string | undefined> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = pattern.exec(text)?.[1];
        if (found === undefined && !ended) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  return {
    ready: find(/"ready":(true)/).then((found) => found !== undefined),
    failure: find(/"failed":"([^"]*)"/),
    find,
  };
}
