/**
 * Node starts a process by copying itself, which takes the longer the more memory it has, and nothing else happens
 * meanwhile: tens of milliseconds with a gigabyte. So one small process of ours is started early, and starts the others.
 */
import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readlinkSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { closePipe, openEnds, type Pipe } from '../pipe.ts';
import { isRunning, readStat, sendSignal } from '../procfs.ts';
import { StartedProcess, startError } from './hostProcess.ts';
import { executableFolders, startFromMemory } from './place.ts';
import { starterProgram } from './program.ts';
import {
  ANSWER_BYTES,
  type Answer,
  checkRequest,
  enlargeRequest,
  forgetRequest,
  makePipesRequest,
  readAnswer,
  type StartSpec,
  signalRequest,
  startRequest,
} from './protocol.ts';

/** How its process is called. */
export const STARTER_NAME = 'glovebox-starter';

/** How long it may take to show that it works; otherwise it is not used. */
const DEADLINE_MS = 5000;

/** How often a process is looked for that nobody tells of any more. */
const LOOK_MS = 5;

/** Who waits for the answers to one request. */
interface Asker {
  /** Tells whether this was the last. */
  readonly take: (answer: Answer) => boolean;
  readonly settle: (error?: Error) => void;
}

/** The process that starts others. It ends when this one does, and what it started ends with it. */
export class Starter {
  readonly #child: ChildProcess;
  readonly #requests: Socket;
  readonly #answers: Socket;
  readonly #askers = new Map<number, Asker>();
  /** What was started and has not ended, by the request's number. */
  readonly #started = new Map<number, StartedProcess>();
  /** The same that runs, by its pid. */
  readonly #running = new Map<number, number>();
  #unread: Buffer = Buffer.alloc(0);
  #making: Promise<unknown> = Promise.resolve();
  #lastId = 0;
  #isRetired = false;
  #isOpen = true;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#requests = child.stdin as Socket;
    this.#answers = child.stdout as Socket;
    child.unref();
    this.#requests.unref();
    for (const stream of [this.#requests, this.#answers]) {
      // EPIPE or ECONNRESET: it is gone, which the end of its answers tells too.
      stream.on('error', () => {});
    }
    this.#answers.on('data', (bytes: Buffer) => this.#read(bytes));
    this.#answers.once('close', () => void this.#end());
    this.#hold();
  }

  /** Undefined where there is none for this machine, and where it cannot do what is needed. */
  static async open(folders = executableFolders()): Promise<Starter | undefined> {
    const program = starterProgram(process.arch);
    if (process.platform !== 'linux' || program === undefined || !isOursToRead()) return undefined;
    const child = startFromMemory(program, STARTER_NAME, [String(process.pid)], folders);
    if (child === undefined) return undefined;
    const starter = new Starter(child);
    if (await starter.#works()) return starter;
    starter.#requests.destroy();
    return undefined;
  }

  /** False when it has ended. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * Starts a program; `stdin`, which is taken over, is where its input is written. Undefined for what the starter
   * does not take, but the kernel might; then nothing was taken over.
   */
  start(spec: StartSpec, stdin: number | undefined): StartedProcess | undefined {
    const id = ++this.#lastId;
    const request = startRequest(id, spec);
    if (request === undefined || !this.#isOpen) return undefined;
    const input = stdin === undefined ? null : new Socket({ fd: stdin, readable: false, writable: true });
    const child = new StartedProcess(spec.waits ? STARTER_NAME : (spec.argv[0] ?? ''), input, {
      holdChanged: () => this.#hold(),
      signal: (pid, signal) => this.#say(signalRequest(pid, signal)),
    });
    this.#started.set(id, child);
    this.#hold();
    this.#say(request);
    return child;
  }

  /** Makes pipes, at most 64. */
  makePipes(count: number): Promise<Pipe[]> {
    // It holds those of one request at a time.
    const made = this.#making.then(() => this.#makePipes(count));
    this.#making = made.catch(() => {});
    return made;
  }

  /** Lets a pipe of ours hold so many bytes, as far as this user may have it. */
  enlarge(descriptor: number, bytes: number): void {
    this.#say(enlargeRequest(descriptor, bytes));
  }

  /** Lets it end as soon as nothing is left of what it started. */
  retire(): void {
    this.#isRetired = true;
    this.#endWhenOver();
  }

  /** Pipes can be had both ways: otherwise there is nothing that it could be used for. */
  async #works(): Promise<boolean> {
    const late = new AbortController();
    const deadline = delay(DEADLINE_MS, false, { signal: late.signal, ref: false }).catch(() => false);
    try {
      return await Promise.race([this.#writesToUs(), deadline]);
    } catch {
      // A process that may not be looked into, descriptors that are all in use: what starts, Node can start.
      return false;
    } finally {
      late.abort();
    }
  }

  async #writesToUs(): Promise<boolean> {
    const [pipe] = await this.makePipes(1);
    if (pipe === undefined) return false;
    try {
      const nonce = randomInt(2 ** 31);
      await this.#ask(
        (id) => checkRequest(id, pipe.write, nonce),
        ({ kind }) => kind === 'checked',
      );
      const written = Buffer.alloc(8);
      return readSync(pipe.read, written) === 4 && written.readInt32LE(0) === nonce;
    } finally {
      closePipe(pipe);
    }
  }

  async #makePipes(count: number): Promise<Pipe[]> {
    const pipes: Pipe[] = [];
    const folder = `/proc/${this.#child.pid}/fd`;
    try {
      await this.#ask(
        (id) => makePipesRequest(id, count),
        (answer) => {
          if (answer.kind === 'pipe') {
            pipes.push(openEnds(`${folder}/${answer.read}`, `${folder}/${answer.write}`));
          }
          return pipes.length === count;
        },
      );
      return pipes;
    } catch (error) {
      pipes.forEach(closePipe);
      throw error;
    } finally {
      this.#say(forgetRequest());
    }
  }

  #ask(request: (id: number) => Buffer, take: Asker['take']): Promise<void> {
    const id = ++this.#lastId;
    return new Promise<void>((resolve, reject) => {
      if (!this.#isOpen) throw hasEnded();
      const settle: Asker['settle'] = (error) => {
        this.#askers.delete(id);
        if (error) reject(error);
        else resolve();
      };
      this.#askers.set(id, { take, settle });
      this.#hold();
      this.#say(request(id));
    });
  }

  #say(request: Buffer): void {
    if (!this.#requests.destroyed) this.#requests.write(request);
  }

  #read(bytes: Buffer): void {
    const all = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
    let position = 0;
    for (; all.length - position >= ANSWER_BYTES; position += ANSWER_BYTES) {
      this.#take(readAnswer(all.subarray(position)));
    }
    this.#unread = all.subarray(position);
    this.#hold();
    this.#endWhenOver();
  }

  #take(answer: Answer): void {
    if (answer.kind === 'exited') {
      const id = this.#running.get(answer.pid) ?? 0;
      const child = this.#started.get(id);
      this.#running.delete(answer.pid);
      this.#started.delete(id);
      child?.hasExited(answer.code, answer.signal);
      return;
    }
    const child = this.#started.get(answer.id);
    if (child === undefined) {
      this.#answer(answer);
    } else if (answer.kind === 'failed') {
      this.#started.delete(answer.id);
      child.hasFailed(startError(answer.errno, child.file));
    } else if (answer.kind === 'started') {
      this.#running.set(answer.pid, answer.id);
      child.hasStarted(answer.pid);
    }
  }

  #answer(answer: Exclude<Answer, { kind: 'exited' }>): void {
    const asker = this.#askers.get(answer.id);
    try {
      if (answer.kind === 'failed') asker?.settle(startError(answer.errno, STARTER_NAME));
      else if (asker?.take(answer)) asker.settle();
    } catch (error) {
      asker?.settle(error as Error);
    }
  }

  /** It has ended, and with it what it started: a process that is not ended by that is ended here. */
  async #end(): Promise<void> {
    this.#isOpen = false;
    this.#requests.destroy();
    for (const { settle } of [...this.#askers.values()]) settle(hasEnded());
    const children = [...this.#started.values()];
    this.#started.clear();
    await Promise.all(
      children.map(async (child) => {
        if (child.pid === undefined) return child.hasFailed(hasEnded());
        await endSession(child.pid);
        child.hasExited(null, 9);
      }),
    );
  }

  #endWhenOver(): void {
    if (this.#isRetired && this.#askers.size === 0 && this.#started.size === 0) this.#requests.destroy();
  }

  /** It is a reason for this process to go on while somebody waits for it. */
  #hold(): void {
    const isAwaited = this.#askers.size > 0 || [...this.#started.values()].some(({ isHeld }) => isHeld);
    this.#answers[isAwaited ? 'ref' : 'unref']();
  }
}

/** Ends the process that leads a session of this number, which it does from its very beginning. */
async function endSession(pid: number): Promise<void> {
  for (;;) {
    const stat = readStat(pid);
    if (stat === undefined || stat.session !== pid || !isRunning(stat)) return;
    sendSignal(-pid, 'SIGKILL');
    await delay(LOOK_MS);
  }
}

/** Whether `/proc` is that of our own namespace: in another one, our number is somebody else's. */
function isOursToRead(): boolean {
  try {
    return readlinkSync('/proc/self') === String(process.pid);
  } catch {
    // There is none.
    return false;
  }
}

function hasEnded(): NodeJS.ErrnoException {
  return Object.assign(new Error('the process that starts others has ended'), { errno: -1 });
}
