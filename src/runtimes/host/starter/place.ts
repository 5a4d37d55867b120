import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownedName } from '../owner.ts';

/** Where programs of ours may be, each often closed to them by its mount (`noexec`). */
export function executableFolders(): string[] {
  return [...new Set([tmpdir(), '/var/tmp', '/dev/shm'])];
}

/**
 * Starts a program that is only in memory, with pipes to its standard input and from its standard output. It has a
 * file in the first of the folders where that works, which is gone again when this returns. Undefined where
 * it works nowhere.
 */
export function startFromMemory(
  program: Uint8Array,
  name: string,
  args: readonly string[],
  folders: readonly string[],
): ChildProcess | undefined {
  for (const parent of folders) {
    const child = startIn(parent, program, name, args);
    if (child?.pid !== undefined) return child;
    // EACCES, as a mount with `noexec` has it, or ETXTBSY; told again as an event.
    child?.once('error', () => {});
  }
  return undefined;
}

function startIn(
  parent: string,
  program: Uint8Array,
  name: string,
  args: readonly string[],
): ChildProcess | undefined {
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(parent, ownedName('start')));
    const file = join(folder, name);
    writeFileSync(file, program, { mode: 0o700, flag: 'wx' });
    // A session of its own: Ctrl-C is for us, who then end everything in good order.
    return spawn(file, args, {
      argv0: name,
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  } catch {
    // No such folder, no room there, or nothing more can be started at all: the next one, or none.
    return undefined;
  } finally {
    // Node returns from `spawn` when the program runs, or never will.
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}
