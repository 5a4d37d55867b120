import { statfsSync } from 'node:fs';
import { SandboxError } from '../../errors.ts';

/**
 * Looks whether the file system at `path` has room for this much more. For what is written by a process of the sandbox's own:
 * nobody could tell its failure from the program's. Throws `SANDBOX_FAILED`.
 */
export function assertRoom(path: string, contents: readonly Uint8Array[]): void {
  const { bsize, bfree, ffree } = statfsSync(path);
  const blocks = contents.reduce((sum, { byteLength }) => sum + Math.ceil(byteLength / bsize), 0);
  if (blocks > bfree || contents.length > ffree) throw noRoom();
}

/** What is thrown when a program could not begin for want of room. */
export function noRoom(): SandboxError {
  return new SandboxError(
    'SANDBOX_FAILED',
    'The input or the files of the program found no room in its sandbox.',
    {
      hint: 'Give more room for files with diskMb (SANDBOX_DISK_MB), for input with memoryMb (SANDBOX_MEMORY_MB).',
    },
  );
}
