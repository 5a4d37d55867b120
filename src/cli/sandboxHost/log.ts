import { fstatSync, ftruncateSync, writeSync } from 'node:fs';
import { forTerminal } from '../terminal.ts';

/** Beyond it, the log begins anew. */
const MAX_BYTES = 256 * 1024;

const STDERR = 2;

/** One line in the log, which standard error leads to. It never grows beyond its bound, and never stops anything. */
export function log(line: string): void {
  try {
    if (fstatSync(STDERR).size > MAX_BYTES) ftruncateSync(STDERR, 0);
    writeSync(STDERR, `${new Date().toISOString()} ${process.pid} ${forTerminal(line)}\n`);
  } catch {
    // A full disk, or a log that cannot be cut: sandboxes matter more than what is told about them.
  }
}
