import { closeSync, constants, openSync, readSync } from 'node:fs';

/** Longer than any record of the kernel's (Documentation/ABI/testing/dev-kmsg). */
const RECORD_BYTES = 8192;

/**
 * Whether this host's kernel noted that a group with this word in its name ran out of memory. False where the
 * kernel's log is not ours to read, or is another kernel's.
 */
export function kernelSawOutOfMemory(word: string): boolean {
  let log: number | undefined;
  try {
    log = openSync('/dev/kmsg', constants.O_RDONLY | constants.O_NONBLOCK);
    const record = Buffer.alloc(RECORD_BYTES);
    for (;;) {
      const length = readRecord(log, record);
      if (length === undefined) return false;
      const text = record.toString('latin1', 0, length);
      if (text.includes('oom-kill:') && text.includes(word)) return true;
    }
  } catch {
    // Absent or closed to us: it tells nothing then.
    return false;
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

/** The length of the next record; undefined at the end. */
function readRecord(log: number, record: Buffer): number | undefined {
  for (;;) {
    try {
      return readSync(log, record, 0, record.length, null);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN') return undefined;
      // EPIPE: what should have come next has been overwritten; the one after that comes now.
      if (code !== 'EPIPE') throw error;
    }
  }
}
