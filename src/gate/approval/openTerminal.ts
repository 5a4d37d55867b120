import { closeSync, constants, openSync, readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { ReadStream, WriteStream } from 'node:tty';

/** A way to and from a person's screen. */
export interface Terminal {
  readonly input: Readable & { setRawMode?(isRaw: boolean): unknown };
  readonly output: Writable;
  readonly columns?: number;
  /** Gives back whatever the streams do not close themselves. */
  close?(): void;
}

/**
 * The terminal that this process is controlled from, whatever its own streams are. One stream for both ways, which is
 * never waited for: a `WriteStream` would stop the whole process while nobody reads.
 */
export function openTerminal(path = '/dev/tty'): Terminal {
  const descriptor = openSync(path, constants.O_RDWR | constants.O_NOCTTY);
  try {
    const stream = new ReadStream(descriptor);
    const close = () => {
      stream.destroy();
      closeIfOpen(descriptor);
    };
    return { input: stream, output: stream, columns: columnsOf(path), close };
  } catch (error) {
    closeIfOpen(descriptor);
    throw error;
  }
}

/** Whether this process is in the background of its terminal: reading from there would stop it whole. */
export function isInBackground(): boolean {
  const status = ownStatus();
  return status !== undefined && status.foreground > 0 && status.foreground !== status.group;
}

/** `/dev/tty`, which is another terminal for each session. */
export const CONTROLLING_TERMINAL = 0x500;

/**
 * The device number of the terminal that controls this process; undefined where none does. One number for all of them
 * where the system does not tell it.
 */
export function controllingTerminalNumber(): number | undefined {
  const { terminal } = ownStatus() ?? { terminal: CONTROLLING_TERMINAL };
  return terminal === 0 ? undefined : terminal;
}

/** Undefined where this is not Linux, which tells it nowhere else. */
function ownStatus(): { group: number; terminal: number; foreground: number } | undefined {
  let status: string;
  try {
    status = readFileSync('/proc/self/stat', 'latin1');
  } catch {
    return undefined;
  }
  // The name of the process comes before, in parentheses, and may hold anything.
  const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
  const [, , group, , terminal, foreground] = fields.map(Number) as [0, 0, number, 0, number, number];
  return { group, terminal, foreground };
}

/** Only a stream for writing knows. */
function columnsOf(path: string): number {
  const descriptor = openSync(path, constants.O_RDWR | constants.O_NOCTTY);
  try {
    const stream = new WriteStream(descriptor);
    const { columns } = stream;
    stream.destroy();
    return columns;
  } finally {
    closeIfOpen(descriptor);
  }
}

/** A stream opens the terminal anew where it can, and closes only its own descriptor. */
function closeIfOpen(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch (error) {
    // EBADF: the stream had no descriptor of its own and has closed this one.
    if ((error as NodeJS.ErrnoException).code !== 'EBADF') throw error;
  }
}
