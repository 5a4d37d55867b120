import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Where system programs live, looked at after the caller's PATH. */
const SYSTEM_FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

/**
 * Finds a program as a shell would, the system's folders included; undefined when there is none. Not
 * asynchronous on purpose: for a dozen looks, which the kernel answers from memory, the ways to libuv's
 * threads and back took longer than anything else that Node does for a run.
 */
export function findExecutable(
  name: string,
  searchPath: string = process.env['PATH'] ?? '',
): string | undefined {
  const candidates = name.includes('/')
    ? [name]
    : [...searchPath.split(delimiter).filter(isAbsolute), ...SYSTEM_FOLDERS].map((folder) =>
        join(folder, name),
      );
  return candidates.find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    // Most candidates are not there, and an error for each would cost more than looking.
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Absent, unreadable or not executable: in each case not a program that can be started.
    return false;
  }
}
