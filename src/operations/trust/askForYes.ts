import { once } from 'node:events';
import { SandboxError } from '../../errors.ts';
import { Keys } from '../../gate/approval/keys.ts';
import { isInBackground, openTerminal, type Terminal } from '../../gate/approval/openTerminal.ts';

const MARK_PASTES = '\x1b[?2004h';
const MARK_NO_PASTES = '\x1b[?2004l';
const DEFAULT_COLUMNS = 80;
/** A terminal that takes nothing must not keep an answer waiting. */
const LAST_WORDS_MS = 500;

/** The terminal that controls this process, whatever its own streams are; undefined where no person can answer there. */
export function controllingTerminal(): Terminal | undefined {
  if (isInBackground()) return undefined;
  try {
    return openTerminal();
  } catch {
    // ENXIO: no terminal controls this process. ENOENT, EACCES: there is none here for anybody.
    return undefined;
  }
}

/**
 * Shows lines and resolves to whether a person then types `yes`, letter by letter, and Enter; anything else is a no, and
 * nothing that was typed or pasted before counts. Rejects when the terminal goes away, and with the signal's reason.
 * Closes the terminal.
 */
export async function askForYes(
  terminal: Terminal,
  show: (columns: number) => readonly string[],
  prompt: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { input, output } = terminal;
  const over = new AbortController();
  // Whatever fails ends in `close`.
  for (const stream of new Set([input, output])) stream.on('error', () => {});
  const lost = Promise.race(
    [input, output].map((stream) => once(stream, 'close', { signal: over.signal })),
  ).then(() => Promise.reject(wentAway()));
  lost.catch(() => undefined);
  const keys = new Keys(input, (before, after) => {
    const isLonger = after.startsWith(before);
    output.write(isLonger ? after.slice(before.length) : '\b \b'.repeat(before.length) + after);
  });
  const talk = async () => {
    await write(terminal, `${MARK_PASTES}${show(terminal.columns ?? DEFAULT_COLUMNS).join('\n')}\n`);
    await keys.quiet();
    await write(terminal, prompt);
    return keys.answer();
  };
  try {
    // No echo, no signals: a key is ours from now on.
    input.setRawMode?.(true);
    const typed = await Promise.race([lost, aborted(signal, over.signal), keys.interrupted, talk()]);
    return typed.kind === 'line' && typed.text === 'yes';
  } finally {
    over.abort();
    keys.close();
    await close(terminal);
  }
}

function wentAway(): SandboxError {
  return new SandboxError('INPUT_INVALID', 'The terminal went away before anybody answered.', {
    hint: 'Ask again from a terminal that stays open.',
  });
}

function aborted(signal: AbortSignal, until: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { signal: until });
    if (signal.aborted) reject(signal.reason);
  });
}

function write({ output }: Terminal, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    output.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** Leaves the terminal as it was. */
async function close(terminal: Terminal): Promise<void> {
  const { input, output } = terminal;
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, LAST_WORDS_MS);
  });
  // The terminal may go away just now; the answer stands.
  const written = output.destroyed
    ? undefined
    : write(terminal, `\n${MARK_NO_PASTES}`).catch(() => undefined);
  await Promise.race([patience, written]);
  clearTimeout(timer);
  if (!input.destroyed) input.setRawMode?.(false);
  const closed = [input, output].filter((stream) => !stream.closed).map((stream) => once(stream, 'close'));
  input.destroy();
  output.destroy();
  terminal.close?.();
  await Promise.all(closed);
}
