import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { SandboxError } from '../../errors.ts';
import { READY } from '../../languages/waiting/waiting.ts';
import { KILLED, mayHaveLackedMemory } from '../host/figures.ts';
import { FramedSource, SECRET_BYTES } from '../host/init/framedSource.ts';
import { READY_DEADLINE_MS, usedTwice } from '../host/waitingInterpreter.ts';
import { codeOf } from '../host/waitStatus.ts';
import type { Exit, GuestProcess, Relay, RelayWish } from '../runtime.ts';
import { STARTED } from './bootstrap.ts';
import type { Connection } from './connect.ts';
import {
  attach,
  type ContainerState,
  createContainer,
  inspectContainer,
  noticedOutOfMemory,
  ranOutOfMemory,
  removeContainer,
  signalContainer,
  startContainer,
  untilStopped,
} from './containers.ts';
import type { Engine } from './engine.ts';
import { type ExecRequest, execIn } from './exec.ts';
import { Demultiplexer, firstBytes } from './frames.ts';
import { type PlacedRelay, placeRelay } from './placeRelay.ts';

/** Longer than anything that the bootstrap says on its first line. */
const MAX_FIRST_LINE = 200;

/** How long a container may take until its program is on its way; files of hundreds of megabytes take seconds. */
const START_DEADLINE_MS = 120_000;

/** How long an engine may take to end a container that was killed. */
const KILL_DEADLINE_MS = 10_000;

/** How long the end of a program waits for somebody to read its output. */
const READER_PATIENCE_MS = 500;

/** How much of what the bootstrap complained about is read. */
const MAX_COMPLAINT_BYTES = 2000;

/** A process never signals itself so (kill(2)). */
const INTERRUPT: ExecRequest = {
  command: ['/bin/sh', '-c', 'kill -INT -1'],
  maxBytes: 0,
  deadlineMs: KILL_DEADLINE_MS,
};

/** What is needed of a connection. */
type EngineParts = Pick<Connection, 'engine' | 'ownKernel'>;

/** The output of an interpreter that waits, and of what it becomes. */
interface Waiting {
  readonly stdout: FramedSource;
  readonly stderr: FramedSource;
}

/** A container that runs and waits for its one program. */
export class ProgramContainer {
  readonly #engine: Engine;
  readonly #ownKernel: boolean;
  readonly #id: string;
  readonly #connection: Socket;
  readonly #output: Demultiplexer;
  readonly #stopped: Promise<ContainerState['State']>;
  #relay: PlacedRelay | undefined;
  #waiting: Waiting | undefined;
  #state: ContainerState['State'] | undefined;
  #removed: Promise<void> | undefined;
  /** Aborted when the container has stopped. */
  readonly #over = new AbortController();
  readonly #sockets: Socket[] = [];

  private constructor({ engine, ownKernel }: EngineParts, id: string, connection: Socket) {
    this.#engine = engine;
    this.#ownKernel = ownKernel;
    this.#id = id;
    this.#connection = connection;
    // It ends with the container; what is written to one that has ended is its own business.
    connection.on('error', () => {});
    this.#output = new Demultiplexer(connection);
    this.#stopped = untilStopped(engine, id, (socket) => this.#sockets.push(socket)).finally(() => {
      this.#over.abort();
    });
    this.#sockets.push(connection);
    // Looked at by whoever waits for the program.
    this.#stopped.catch(() => {});
  }

  /** Throws `SANDBOX_FAILED` with the engine's reason; nothing is left then. */
  static async start(parts: EngineParts, name: string, body: object): Promise<ProgramContainer> {
    const { engine } = parts;
    let id: string | undefined;
    try {
      id = await createContainer(engine, name, body);
      const { socket, head } = await attach(engine, id);
      if (head.length > 0) socket.unshift(head);
      await startContainer(engine, id);
      return new ProgramContainer(parts, id, socket);
    } catch (error) {
      // By name: the engine may have made it and then failed to answer.
      await removeContainer(engine, id ?? name).catch(() => {});
      throw containerFailed(error);
    }
  }

  async inspect(): Promise<ContainerState> {
    const state = await inspectContainer(this.#engine, this.#id);
    this.#state = state.State;
    return state;
  }

  /** Puts a relay into its network, in front of its program. Throws `SANDBOX_FAILED` when it does not come up. */
  async placeRelay(program: Uint8Array, wish: RelayWish): Promise<void> {
    this.#relay = await placeRelay(this.#engine, this.#id, program, wish);
  }

  /** The relay that was put there. */
  get relay(): Relay | undefined {
    return this.#relay?.relay;
  }

  /** Hands over the program, which is on its way when this resolves. */
  async give(orders: Uint8Array, stdin: Uint8Array | 'stream' | undefined): Promise<GuestProcess> {
    this.#connection.write(orders);
    this.#give(stdin);
    await this.#untilStarted();
    const { stdout, stderr } = this.#output;
    let killed = false;
    return {
      ...(stdin === 'stream' ? { stdin: this.#input() } : {}),
      stdout,
      stderr,
      exit: this.#exit(() => killed),
      kill: async (signal) => {
        if (signal === 'SIGINT') return this.#interrupt();
        if (signal === 'SIGKILL') killed = true;
        await signalContainer(this.#engine, this.#id, signal);
        if (signal === 'SIGKILL') await this.#mustStop();
      },
    };
  }

  /** Hands over an interpreter, which waits when this resolves. Throws `SANDBOX_FAILED` when it does not. */
  async warmUp(orders: Uint8Array): Promise<void> {
    const secret = randomBytes(SECRET_BYTES);
    this.#connection.write(orders);
    this.#connection.write(secret);
    await this.#untilStarted();
    const waiting = {
      stdout: new FramedSource(this.#output.stdout, secret),
      stderr: new FramedSource(this.#output.stderr, secret),
    };
    const timer = setTimeout(() => this.#connection.destroy(), READY_DEADLINE_MS);
    const said = await waiting.stdout.first(READY.length).finally(() => clearTimeout(timer));
    if (said !== READY) throw containerFailed(new Error('no interpreter came to wait for the program'));
    for (const socket of this.#sockets) socket.unref();
    this.#waiting = waiting;
  }

  /** Tells the interpreter that waits what to become. Throws `SANDBOX_FAILED` for a second time. */
  become(orders: Uint8Array, stdin: Uint8Array | 'stream' | undefined): GuestProcess {
    const waiting = this.#waiting;
    if (waiting === undefined) throw usedTwice();
    this.#waiting = undefined;
    for (const socket of this.#sockets) socket.ref();
    this.#connection.write(orders);
    this.#give(stdin);
    let killed = false;
    return {
      ...(stdin === 'stream' ? { stdin: this.#input() } : {}),
      ...waiting,
      exit: this.#exitOf(waiting, () => killed),
      kill: async (signal) => {
        if (signal === 'SIGKILL') killed = true;
        await signalContainer(this.#engine, this.#id, signal);
        if (signal === 'SIGKILL') await this.#mustStop();
      },
    };
  }

  #give(stdin: Uint8Array | 'stream' | undefined): void {
    if (stdin === undefined) this.#connection.end();
    else if (stdin !== 'stream') this.#connection.end(stdin);
  }

  async #untilStarted(): Promise<void> {
    // A connection that says nothing ends, and so does the wait for its first line.
    const timer = setTimeout(() => this.#connection.destroy(), START_DEADLINE_MS);
    const first = await this.#output.stdout.line(MAX_FIRST_LINE).finally(() => clearTimeout(timer));
    if (first !== STARTED) throw await this.#notStarted();
    this.#output.holdBack();
  }

  /** Takes it away, program and all; safe to call twice. */
  remove(): Promise<void> {
    this.#removed ??= this.#remove();
    return this.#removed;
  }

  async #remove(): Promise<void> {
    try {
      await removeContainer(this.#engine, this.#id);
    } finally {
      this.#connection.destroy();
      this.#relay?.release();
    }
  }

  /**
   * To everything but the init, which would pass it on to the program alone. An engine that cannot start anything
   * in there any more still reaches that.
   */
  async #interrupt(): Promise<void> {
    const { signal } = this.#over;
    const reached = await execIn(this.#engine, this.#id, { ...INTERRUPT, signal }).then(
      ({ code }) => code === 0,
      () => false,
    );
    if (!reached) await signalContainer(this.#engine, this.#id, 'SIGINT');
  }

  async #exit(wasKilled: () => boolean): Promise<Exit> {
    const state = await this.#stopped.catch((error: unknown) => {
      throw containerFailed(error);
    });
    if (state.Error !== '') throw containerFailed(new Error(state.Error));
    // The engine hands over what is left only now, and closes the connection after it.
    await this.#output.drained(READER_PATIENCE_MS);
    const code = state.ExitCode;
    const mayBeMemory = mayHaveLackedMemory(code, this.#ownKernel) && !wasKilled();
    // Otherwise it may have been a child of the program's; nobody waits for late news of that.
    const asked = mayBeMemory
      ? ranOutOfMemory(this.#engine, this.#id, state)
      : noticedOutOfMemory(this.#engine, this.#id, state, Date.now());
    const memory = await asked.catch((error: unknown) => {
      throw containerFailed(error);
    });
    const outOfMemory = mayBeMemory && memory;
    return { code: outOfMemory ? KILLED : code, outOfMemory, ...(memory ? { oomKills: 1 } : {}) };
  }

  /** The first process inside says how the program ended; where nobody listens to it, the end of all tells. */
  async #exitOf({ stdout, stderr }: Waiting, wasKilled: () => boolean): Promise<Exit> {
    const over = this.#stopped.then(
      () => undefined,
      () => undefined,
    );
    const said = Promise.all([stdout.ended, stderr.ended]);
    const end = await Promise.race([said.then(([first, second]) => first ?? second ?? over), over]);
    if (end === undefined) return this.#exit(wasKilled);
    const code = codeOf(end.status);
    const mayBeMemory = mayHaveLackedMemory(code, this.#ownKernel) && !wasKilled();
    if (end.oomKills !== undefined && !this.#ownKernel) {
      const outOfMemory = mayBeMemory && end.oomKills > 0;
      return { code, outOfMemory, ...(end.oomKills > 0 ? { oomKills: end.oomKills } : {}) };
    }
    // Only the engine knows more; of the program itself when all of it has ended.
    if (mayBeMemory || this.#state === undefined) return this.#exit(wasKilled);
    const memory = await noticedOutOfMemory(this.#engine, this.#id, this.#state, Date.now());
    return { code, outOfMemory: false, ...(memory ? { oomKills: 1 } : {}) };
  }

  /** A kill that does not end it must not go unnoticed. */
  async #mustStop(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, KILL_DEADLINE_MS, 'late');
    });
    try {
      if ((await Promise.race([this.#stopped.catch(() => {}), late])) === 'late') await this.remove();
    } finally {
      clearTimeout(timer);
    }
  }

  async #notStarted(): Promise<SandboxError> {
    const complaint = await firstBytes(this.#output.stderr, MAX_COMPLAINT_BYTES);
    if (/No space left on device|File too large/.test(complaint)) {
      return new SandboxError('INPUT_INVALID', 'The files do not fit into the workspace.', {
        hint: 'Ask for a larger disk with diskMb (SANDBOX_DISK_MB), or give less.',
        details: { stderr: complaint },
      });
    }
    // Where it hangs it does not stop by itself.
    await signalContainer(this.#engine, this.#id, 'SIGKILL').catch(() => {});
    const state = await this.#stopped.catch(() => undefined);
    const reason = complaint || state?.Error || `it ended with ${state?.ExitCode ?? 'no answer'}`;
    return containerFailed(new Error(`the program could not be started in its container: ${reason}`));
  }

  #input(): Writable {
    const connection = this.#connection;
    const { signal } = this.#over;
    return new Writable({
      write(chunk, _, done) {
        if (signal.aborted) done();
        else if (connection.write(chunk)) done();
        else waitForRoom(connection, done);
      },
      final(done) {
        connection.end();
        done();
      },
    });
  }
}

/** Goes on when there is room, or when nobody will read any more. */
function waitForRoom(connection: Socket, done: () => void): void {
  const go = (): void => {
    connection.off('drain', go);
    connection.off('close', go);
    done();
  };
  connection.on('drain', go);
  connection.on('close', go);
}

/** What is thrown when the engine fails us; an error of ours stays what it is. */
export function containerFailed(error: unknown): SandboxError {
  if (error instanceof SandboxError) return error;
  const message = (error as Error).message;
  const init = /docker-init|catatonit/.test(message) && /not found|no such file|find/i.test(message);
  return new SandboxError('SANDBOX_FAILED', `The container failed: ${message}`, {
    hint: init
      ? 'Install the init that containers need (apt-get install tini, or catatonit for Podman).'
      : 'Run: glovebox doctor',
    cause: error,
  });
}
