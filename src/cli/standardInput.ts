import { fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { type ProgramFlags, readHostFile } from './program.ts';

/** What the program reads: what `--stdin` says, else our own standard input where there may be something in it. */
export async function standardInput(
  file: string | undefined,
  { stdin, code, command }: ProgramFlags & { readonly stdin?: string },
): Promise<Uint8Array | Readable | undefined> {
  if (stdin?.startsWith('@')) return readHostFile(stdin.slice(1), 'The input file');
  if (stdin !== undefined) return Buffer.from(stdin);
  const codeCameFromThere = file === '-' && code === undefined && !command;
  return codeCameFromThere || isNothingToRead() ? undefined : process.stdin;
}

/** A terminal is not passed on; the null device and a closed descriptor hold nothing. */
function isNothingToRead(): boolean {
  if (process.stdin.isTTY) return true;
  try {
    return fstatSync(0).isCharacterDevice();
  } catch {
    // EBADF: standard input is closed.
    return true;
  }
}
