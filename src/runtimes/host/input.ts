import { randomUUID } from 'node:crypto';
import { openSync, unlinkSync, writeFileSync } from 'node:fs';
import type { LaunchStep } from './launcher.ts';
import type { StreamOwner } from './pipes.ts';

/** Where files of ours for a program can be written, and where the launcher sees them. */
export interface Scratch {
  readonly here: string;
  readonly there: string;
}

/** What a launcher has to do for standard input. */
export interface Input {
  readonly steps: readonly LaunchStep[];
  /** To be removed once the program has started. */
  readonly file?: string;
}

/**
 * Given input is a file, so that a program may open `/dev/stdin` again. A stream is a socket, which the
 * launcher makes a pipe of that `owner` may open, where that is not us.
 */
export function prepareInput(
  stdin: Uint8Array | 'stream' | undefined,
  scratch: Scratch,
  owner: StreamOwner | undefined,
): Input {
  if (stdin === undefined) return { steps: [] };
  if (stdin === 'stream') return { steps: [{ pipeInputFor: owner ? `${owner.uid}:${owner.gid}` : '' }] };
  const name = `stdin-${randomUUID()}`;
  const file = `${scratch.here}/${name}`;
  writeFileSync(file, stdin, { mode: 0o444, flag: 'wx' });
  return { steps: [{ openFile: `${scratch.there}/${name}`, as: 0 }], file };
}

/** The same without a launcher: a descriptor of a file that has no name any more. */
export function openInput(data: Uint8Array, folder: string): number {
  const { file } = prepareInput(data, { here: folder, there: folder }, undefined) as Required<Input>;
  try {
    return openSync(file, 'r');
  } finally {
    unlinkSync(file);
  }
}
