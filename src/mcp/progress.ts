import type { ServerContext } from '@modelcontextprotocol/server';
import type { OnOutput } from '../result/output.ts';

/** How long a note waits for more of what it tells. */
const EVERY_MS = 200;

const MAX_CHARACTERS = 800;

/** Notes on a call while it goes on, each with the newest of its output. */
export interface ProgressNotes {
  /** Never holds the program back. */
  readonly onOutput: OnOutput;
  /** No note comes after it. */
  end(): void;
}

/** Undefined where the client did not ask for any. */
export function progressNotes(
  { mcpReq }: Pick<ServerContext, 'mcpReq'>,
  everyMs: number = EVERY_MS,
): ProgressNotes | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let bytes = 0;
  let newest = '';
  let timer: NodeJS.Timeout | undefined;
  let isSending = false;
  let hasEnded = false;

  const schedule = (): void => {
    if (!hasEnded && !isSending) timer ??= setTimeout(() => void send(), everyMs);
  };
  const send = async (): Promise<void> => {
    timer = undefined;
    isSending = true;
    const told = bytes;
    const params = { progressToken, progress: told, message: shownText(newest) };
    // A client that is gone, or does not read, misses notes and nothing else.
    await mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
    isSending = false;
    if (bytes > told) schedule();
  };
  return {
    onOutput({ text, bytes: { length } }) {
      bytes += length;
      newest = (newest + text).slice(-MAX_CHARACTERS);
      schedule();
    },
    end() {
      hasEnded = true;
      clearTimeout(timer);
    },
  };
}

/**
 * Hostile text for whatever a client shows notes on, at most a kilobyte of it: escapes instead of control, format and
 * separator characters, but for tabs and line feeds.
 */
export function shownText(text: string): string {
  const shown = text.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
  return lastBytes(shown, 1024);
}

const UNSEEN = /[^\P{Cc}\t\n]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;

function lastBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let start = bytes.length - limit;
  // Not within a character.
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return bytes.subarray(start).toString();
}
