import { execFile } from 'node:child_process';
import { closeSync, constants, fchmodSync, fchownSync, openSync, rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { SandboxError } from '../../errors.ts';
import { findExecutable } from './executables.ts';
import { ownedName } from './owner.ts';

/**
 * The standard streams of one program. They are true pipes: what `node:child_process` calls a pipe is a
 * socket, and a program cannot open `/dev/stdout` or `/dev/stderr` on a socket (ENXIO).
 */
export interface StandardStreams {
  /** Descriptors for the child, for `stdio`; to be closed here once it is started. */
  readonly child: { readonly stdin: number | 'ignore'; readonly stdout: number; readonly stderr: number };
  readonly stdin?: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  closeChildEnds(): void;
  /** Gives up on all of them, for a program that was never started. */
  destroy(): void;
}

export interface StreamOwner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Makes the streams. Nothing of them stays in the file system: the names are removed before this resolves.
 * `owner` is who may open `/dev/stdout` again inside, where that is not us.
 */
export async function createStreams(
  stdin: Uint8Array | 'stream' | undefined,
  owner?: StreamOwner,
): Promise<StandardStreams> {
  const folder = await mkdtemp(join(tmpdir(), `${ownedName('pipes')}`));
  const opened: number[] = [];
  const open = (name: string, flags: number): number => {
    const descriptor = openSync(join(folder, name), flags);
    opened.push(descriptor);
    return descriptor;
  };
  try {
    const names = ['stdout', 'stderr', ...(stdin === 'stream' ? ['stdin'] : [])];
    await makeFifos(names.map((name) => join(folder, name)));
    const pipe = (name: string): { read: number; write: number } => {
      // The reading end first: opening a FIFO for writing waits, or fails, without one.
      const read = open(name, constants.O_RDONLY | constants.O_NONBLOCK);
      return { read, write: open(name, constants.O_WRONLY) };
    };
    const output = pipe('stdout');
    const errors = pipe('stderr');
    let input: number | 'ignore' = 'ignore';
    let inputWriter: number | undefined;
    if (stdin === 'stream') {
      const { read, write } = pipe('stdin');
      // The child's end must block, as every program expects of its standard input.
      input = open('stdin', constants.O_RDONLY);
      inputWriter = write;
      closeSync(read);
      opened.splice(opened.indexOf(read), 1);
    } else if (stdin !== undefined) {
      await writeFile(join(folder, 'stdin'), stdin, { mode: 0o600, flag: 'wx' });
      input = open('stdin', constants.O_RDONLY);
    }
    for (const descriptor of [output.read, errors.read, ...(input === 'ignore' ? [] : [input])]) {
      fchmodSync(descriptor, 0o600);
      if (owner) fchownSync(descriptor, owner.uid, owner.gid);
    }
    const stdout = new Socket({ fd: output.read, readable: true, writable: false });
    const stderr = new Socket({ fd: errors.read, readable: true, writable: false });
    const stdinStream =
      inputWriter === undefined
        ? undefined
        : new Socket({ fd: inputWriter, readable: false, writable: true });
    const childEnds = [output.write, errors.write, ...(input === 'ignore' ? [] : [input])];
    let childEndsOpen = true;
    const closeChildEnds = (): void => {
      if (!childEndsOpen) return;
      childEndsOpen = false;
      for (const descriptor of childEnds) closeSync(descriptor);
    };
    return {
      child: { stdin: input, stdout: output.write, stderr: errors.write },
      stdout,
      stderr,
      ...(stdinStream ? { stdin: stdinStream } : {}),
      closeChildEnds,
      destroy() {
        closeChildEnds();
        for (const stream of [stdout, stderr, stdinStream]) stream?.destroy();
      },
    };
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor);
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function makeFifos(paths: readonly string[]): Promise<void> {
  const program = await findExecutable('mkfifo');
  if (program === undefined) {
    throw new SandboxError(
      'SANDBOX_FAILED',
      'The program mkfifo, which makes pipes, is missing on this host.',
      {
        hint: 'Install it: apt-get install coreutils',
      },
    );
  }
  await promisify(execFile)(program, ['-m', '600', '--', ...paths], { env: {} });
}
