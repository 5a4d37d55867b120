import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once as onceEvent } from 'node:events';
import {
  accessSync,
  closeSync,
  constants,
  fchownSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '../../errors.ts';
import { findExecutable } from './executables.ts';
import type { Folder } from './folder.ts';
import type { LauncherSpec } from './launch.ts';
import { ownedName } from './owner.ts';
import { closePipe, openPipe, type Pipe } from './pipe.ts';
import { PipeSource } from './pipeSource.ts';
import { starterNow, useStarter } from './starter/current.ts';

/**
 * Standard output and error are true pipes: what `node:child_process` calls a pipe is a socket, and a program
 * cannot open `/dev/stdout` or `/dev/stderr` on a socket (ENXIO).
 *
 * Node cannot make a pipe, but the starter can, several at once. Where there is none, a program makes FIFOs, which are
 * opened, and their names removed, before anybody gets one. Each serves one program.
 */

/** Who may open `/dev/stdout` again inside, where that is not us. */
export interface StreamOwner {
  readonly uid: number;
  readonly gid: number;
}

/** Standard output and error of one program. */
export interface OutputPipes {
  readonly stdout: PipeSource;
  readonly stderr: PipeSource;
  /** Descriptors for the child's `stdio`. */
  readonly child: { readonly stdout: number; readonly stderr: number };
  /** To be called once the child has them: the streams end when its last copy is closed. */
  closeChildEnds(): void;
  /** What a launcher is spoken to by, where the starter starts it: whoever takes them closes them. */
  takeChannels(): Channels | undefined;
  destroy(): void;
}

/** Further pipes to and from one program. */
export interface Channels {
  readonly status: Pipe;
  readonly orders: Pipe;
  /** Only where the program's input is a stream. */
  readonly stdin?: Pipe;
}

/** Standard input of one program, which is a true pipe from the beginning. */
export interface InputPipe {
  /** Does not keep this process alive. */
  readonly writable: Socket;
  /** A descriptor for the child's `stdio`. */
  readonly child: number;
  /** To be called once the child has it: whoever writes then hears when nobody reads any more. */
  closeChildEnd(): void;
  destroy(): void;
}

/** How many are made at once, for eight programs, and how few may be left before more are made. */
const BATCH = 32;
const LOW = 8;

/** Made, and nobody's yet. */
const ready: Pipe[] = [];
let making: Promise<void> | undefined;

/** How many descriptors the pipes hold that are nobody's yet. */
export function descriptorsInStock(): number {
  return 2 * ready.length;
}

/** Sees to it that there will be pipes soon; to be called as early as it is known that some will be needed. */
export function prepareOutputPipes(): void {
  // Whoever takes them hears of a failure, and tries anew.
  if (ready.length < LOW) makeMore().catch(() => {});
}

/** `stdin` is what the program's input will be: a stream takes one more. */
export async function takeOutputPipes(
  owner?: StreamOwner,
  stdin?: LauncherSpec['stdin'],
): Promise<OutputPipes> {
  const taken: Pipe[] = [];
  try {
    for (const whose of [owner, owner]) taken.push(await takePipe(whose));
    // For a launcher's channels.
    const more = starterNow() === undefined ? 0 : stdin === 'stream' ? 3 : 2;
    for (let count = 0; count < more; count++) taken.push(await takePipe(undefined));
  } catch (error) {
    taken.forEach(closePipe);
    throw error;
  }
  const [output, errors, status, orders, input] = taken as [Pipe, Pipe, Pipe?, Pipe?, Pipe?];
  let channels: Channels | undefined = status && orders && { status, orders, ...(input && { stdin: input }) };
  prepareOutputPipes();
  // Only now that nothing can fail any more: a source owns its descriptor.
  const stdout = new PipeSource(output.read);
  const stderr = new PipeSource(errors.read);
  const closeChildEnds = once(() => {
    closeSync(output.write);
    closeSync(errors.write);
    if (channels) closeChannels(channels);
    channels = undefined;
  });
  return {
    stdout,
    stderr,
    child: { stdout: output.write, stderr: errors.write },
    closeChildEnds,
    takeChannels() {
      const taken = channels;
      channels = undefined;
      return taken;
    },
    destroy() {
      closeChildEnds();
      stdout.destroy();
      stderr.destroy();
    },
  };
}

export function closeChannels({ status, orders, stdin }: Channels): void {
  for (const pipe of [status, orders, stdin]) if (pipe) closePipe(pipe);
}

/**
 * The writing end of the pipe that a launcher has put in place of its standard input. It is one without a name: whoever
 * opens `/dev/stdin` again when all was written gets the rest, and the end of it, and would wait at a FIFO. Does not
 * keep this process alive.
 */
export function openInputPipe(pid: number, owner?: StreamOwner): Socket {
  const descriptor = openSync(`/proc/${pid}/fd/0`, constants.O_WRONLY | constants.O_NONBLOCK);
  if (owner) fchownSync(descriptor, owner.uid, owner.gid);
  const writable = new Socket({ fd: descriptor, readable: false, writable: true });
  writable.unref();
  // EPIPE: nobody reads any more, which is the program's business.
  writable.on('error', () => {});
  return writable;
}

export async function takeInputPipe(owner?: StreamOwner): Promise<InputPipe> {
  const pipe = await takePipe(owner);
  // Opened anew: reading our own end never waits, and a program must.
  const child = openAnew(pipe);
  closeSync(pipe.read);
  const writable = new Socket({ fd: pipe.write, readable: false, writable: true });
  writable.unref();
  // EPIPE: nobody reads any more, which is the program's business.
  writable.on('error', () => {});
  const closeChildEnd = once(() => closeSync(child));
  return {
    writable,
    child,
    closeChildEnd,
    destroy() {
      closeChildEnd();
      writable.destroy();
    },
  };
}

function openAnew(pipe: Pipe): number {
  try {
    return openSync(`/proc/self/fd/${pipe.read}`, constants.O_RDONLY);
  } catch (error) {
    closePipe(pipe);
    throw error;
  }
}

async function takePipe(owner: StreamOwner | undefined): Promise<Pipe> {
  for (;;) {
    const pipe = ready.pop();
    if (pipe === undefined) {
      await makeMore();
      continue;
    }
    try {
      if (owner) fchownSync(pipe.read, owner.uid, owner.gid);
      return pipe;
    } catch (error) {
      closePipe(pipe);
      throw new SandboxError(
        'SANDBOX_FAILED',
        `Nothing can be given to user ${owner?.uid} here: ${(error as Error).message}`,
        { hint: 'In a container, map a whole range of user ids, or run as an ordinary user.', cause: error },
      );
    }
  }
}

function makeMore(): Promise<void> {
  making ??= makePipes(BATCH)
    .then((pipes) => {
      ready.push(...pipes);
    })
    .finally(() => {
      making = undefined;
    });
  return making;
}

/**
 * Where the names stand while they exist. A program can read the name of what it was given, even of what is
 * long removed, in `/proc/self/fd`: so not in a temporary folder that may be in somebody's home.
 */
export function pipeFolder(): string {
  return isWritable('/dev/shm') ? '/dev/shm' : tmpdir();
}

async function makePipes(count: number): Promise<Pipe[]> {
  const starter = await useStarter();
  if (starter === undefined) return makeFromFifos(count);
  return starter.makePipes(count).catch((error) => {
    if (starter.isOpen) throw error;
    // It has ended meanwhile: the next one makes them, or a program.
    return makePipes(count);
  });
}

/** Makes FIFOs in a folder that only we can enter, opens both ends of each, and removes the folder. */
async function makeFromFifos(count: number): Promise<Pipe[]> {
  const parent = pipeFolder();
  const folder = mkdtempSync(join(parent, ownedName('pipes')));
  const pipes: Pipe[] = [];
  try {
    const paths = Array.from({ length: count }, (_, index) => join(folder, String(index)));
    await makeFifos(folder, paths);
    for (const path of paths) pipes.push(openPipe(path));
    return pipes;
  } catch (error) {
    pipes.forEach(closePipe);
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

/** Makes FIFOs that only we may open. A path may lead through `/proc/self/fd/3`, which is `folder` by its descriptor. */
export async function makeFifos(folder: string | Folder, paths: readonly string[]): Promise<void> {
  const program = findExecutable('mkfifo');
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
  const child = spawn(program, ['-m', '600', '--', ...paths], {
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', ...(typeof folder === 'string' ? [] : [folder.descriptor])],
    detached: true,
  });
  const [code] = await onceEvent(child, 'exit');
  if (code !== 0) {
    throw new SandboxError(
      'SANDBOX_FAILED',
      `No pipes can be made${typeof folder === 'string' ? ` in ${folder}` : ''}.`,
      {
        hint: 'Let this user write there.',
      },
    );
  }
}

/** What was written to a stream so far, for a message about a program that did not start. */
export async function leftIn(stream: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  const read = async (): Promise<void> => {
    for await (const chunk of stream) {
      text += Buffer.from(chunk).toString('utf8');
      if (text.length > 4000) break;
    }
  };
  await Promise.race([read().catch(() => {}), delay(200, undefined, { ref: false })]);
  return text.trim();
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    action();
  };
}
