import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once as onceEvent } from 'node:events';
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { SandboxError } from '../../errors.ts';
import type { ByteSource } from '../runtime.ts';
import { findExecutable } from './executables.ts';
import { ownedName } from './owner.ts';
import { PipeSource } from './pipeSource.ts';

/**
 * Standard output and error are true pipes: what `node:child_process` calls a pipe is a socket, and a program
 * cannot open `/dev/stdout` or `/dev/stderr` on a socket (ENXIO).
 *
 * Nothing of them stays in the file system: names are removed before this resolves.
 */

/** Who may open `/dev/stdout` again inside, where that is not us. */
export interface StreamOwner {
  readonly uid: number;
  readonly gid: number;
}

/** Standard output and error. They depend on nothing else, so that they can be made before they are needed. */
export interface OutputPipes {
  readonly stdout: ByteSource;
  readonly stderr: ByteSource;
  /** Descriptors for the child's `stdio`. */
  readonly child: { readonly stdout: number; readonly stderr: number };
  /** To be called once the child has them: the streams end when its last copy is closed. */
  closeChildEnds(): void;
  destroy(): void;
}

export async function createOutputPipes(owner?: StreamOwner): Promise<OutputPipes> {
  return inPrivateFolder(['stdout', 'stderr'], (opened) => {
    const openEnds = (name: string): { read: number; write: number } => {
      // The reading end first: opening a FIFO for writing waits, or fails, without one.
      const read = opened.open(name, constants.O_RDONLY | constants.O_NONBLOCK);
      reownable(read, owner);
      return { read, write: opened.open(name, constants.O_WRONLY) };
    };
    const output = openEnds('stdout');
    const errors = openEnds('stderr');
    // Only now that nothing can fail any more: a source owns its descriptor.
    const stdout = new PipeSource(output.read);
    const stderr = new PipeSource(errors.read);
    const closeChildEnds = once(() => {
      closeSync(output.write);
      closeSync(errors.write);
    });
    return {
      stdout,
      stderr,
      child: { stdout: output.write, stderr: errors.write },
      closeChildEnds,
      destroy() {
        closeChildEnds();
        stdout.destroy();
        stderr.destroy();
      },
    };
  });
}

interface Opened {
  open(name: string, flags: number): number;
}

/**
 * Where the names stand while they exist. A program can read the name of what it was given, even of what is
 * long removed, in `/proc/self/fd`: so not in a temporary folder that may be in somebody's home.
 */
export function pipeFolder(): string {
  return isWritable('/dev/shm') ? '/dev/shm' : tmpdir();
}

/** Makes FIFOs in a folder that only we can enter, lets `use` open them, and removes the folder. */
async function inPrivateFolder<T>(
  fifos: readonly string[],
  use: (opened: Opened) => T | Promise<T>,
): Promise<T> {
  const parent = pipeFolder();
  const folder = await mkdtemp(join(parent, ownedName('pipes')));
  const descriptors = new Set<number>();
  try {
    await makeFifos(fifos.map((name) => join(folder, name)));
    return await use({
      open(name, flags) {
        const descriptor = openSync(join(folder, name), flags);
        descriptors.add(descriptor);
        return descriptor;
      },
    });
  } catch (error) {
    for (const descriptor of descriptors) closeSync(descriptor);
    throw error;
  } finally {
    // The folder's own name tells our process id: what was opened is removed from beside it, under another name.
    for (const name of readdirSync(folder)) {
      const neutral = join(parent, randomUUID());
      renameSync(join(folder, name), neutral);
      unlinkSync(neutral);
    }
    rmSync(folder, { recursive: true, force: true });
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    // ENOENT outside Linux; EACCES or EROFS where somebody closed it.
    return false;
  }
}

function reownable(descriptor: number, owner: StreamOwner | undefined): void {
  fchmodSync(descriptor, 0o600);
  if (owner) fchownSync(descriptor, owner.uid, owner.gid);
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
  // A group of its own: Ctrl-C is for us, who then end the run in good order.
  const child = spawn(program, ['-m', '600', '--', ...paths], { env: {}, stdio: 'ignore', detached: true });
  const [code] = await onceEvent(child, 'exit');
  if (code !== 0) {
    throw new SandboxError('SANDBOX_FAILED', `No pipes can be made in ${dirname(paths[0] ?? '')}.`, {
      hint: 'Let this user write there.',
    });
  }
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    action();
  };
}
