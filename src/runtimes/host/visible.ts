import { chmodSync, closeSync, fchmodSync, mkdirSync, openSync, writeFileSync } from 'node:fs';

/** Makes a file that every user may read, whatever our own umask says. */
export function writeVisible(path: string, data: string | Uint8Array): void {
  const file = openSync(path, 'wx', 0o644);
  try {
    writeFileSync(file, data);
    fchmodSync(file, 0o644);
  } finally {
    closeSync(file);
  }
}

/** Makes a folder that every user may enter, whatever our own umask says; its parent must be there. */
export function makeVisible(path: string): void {
  mkdirSync(path);
  chmodSync(path, 0o755);
}
