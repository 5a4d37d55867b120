import { closeSync, constants, fchmodSync, openSync } from 'node:fs';

/** The two ends of a pipe, as descriptors of ours. */
export interface Pipe {
  readonly read: number;
  readonly write: number;
}

/** Opens both ends of a FIFO, the reading one so that it never waits. */
export function openPipe(path: string): Pipe {
  return openEnds(path, path, (read) => fchmodSync(read, 0o600));
}

/** Opens both ends of a pipe by a path for each, the reading one so that it never waits. */
export function openEnds(reading: string, writing: string, between: (read: number) => void = () => {}): Pipe {
  // The reading end first: opening a FIFO for writing waits, or fails, without one.
  const read = openSync(reading, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    between(read);
    return { read, write: openSync(writing, constants.O_WRONLY) };
  } catch (error) {
    closeSync(read);
    throw error;
  }
}

export function closePipe({ read, write }: Pipe): void {
  closeSync(read);
  closeSync(write);
}
