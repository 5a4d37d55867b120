import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from './engine.ts';
import { Demultiplexer } from './frames.ts';

export interface ExecRequest {
  readonly command: readonly [string, ...string[]];
  readonly stdin?: Uint8Array;
  /** How much of standard output is kept; the rest is not waited for. */
  readonly maxBytes: number;
  readonly deadlineMs: number;
  /** Gives up on it, when the container has ended for instance: not every engine then tells who waits. */
  readonly signal?: AbortSignal;
}

export interface ExecResult {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

const MAX_STDERR_BYTES = 4096;

/** A small program of ours that runs in a container, as the container's own user. */
export interface Started {
  /** The engine's name for it. */
  readonly id: string;
  /** Its input one way, its output in frames the other. */
  readonly socket: Socket;
}

export async function startIn(
  engine: Engine,
  container: string,
  { command, input }: { readonly command: readonly [string, ...string[]]; readonly input: boolean },
): Promise<Started> {
  const { Id } = await engine.call<{ Id: string }>('POST', `/containers/${container}/exec`, {
    body: { Cmd: command, AttachStdin: input, AttachStdout: true, AttachStderr: true, Tty: false },
  });
  const { socket, head } = await engine.hijack(`/exec/${Id}/start`, { Detach: false, Tty: false });
  if (head.length > 0) socket.unshift(head);
  // It ends with the program; what is written to one that has ended is its own business.
  socket.on('error', () => {});
  return { id: Id, socket };
}

/** Runs one to its end; rejects when that does not come in time, or is not waited for. */
export async function execIn(engine: Engine, container: string, request: ExecRequest): Promise<ExecResult> {
  const { command, stdin, signal } = request;
  const { id, socket } = await startIn(engine, container, { command, input: stdin !== undefined });
  const giveUp = (): void => void socket.destroy();
  const timer = setTimeout(giveUp, request.deadlineMs);
  signal?.addEventListener('abort', giveUp);
  try {
    const output = new Demultiplexer(socket);
    output.holdBack();
    if (stdin !== undefined) socket.end(stdin);
    const [stdout, stderr] = await Promise.all([
      upTo(output.stdout, request.maxBytes),
      upTo(output.stderr, MAX_STDERR_BYTES),
    ]);
    return { code: await codeOf(engine, id, request), stdout, stderr: stderr.toString('utf8') };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
    socket.destroy();
  }
}

interface Running extends Started {
  readonly output: Demultiplexer;
}

/** A program of ours in a container whose input or output is long: no step of it may take longer than `patienceMs`. */
export class LongExec {
  /** What it says besides; complete once it has ended. */
  readonly complaint: Promise<string>;
  readonly #engine: Engine;
  readonly #running: Running;
  readonly #patienceMs: number;

  private constructor(engine: Engine, running: Running, patienceMs: number) {
    this.#engine = engine;
    this.#running = running;
    this.#patienceMs = patienceMs;
    this.complaint = upTo(running.output.stderr, MAX_STDERR_BYTES).then((said) => said.toString('utf8'));
  }

  static async start(
    engine: Engine,
    container: string,
    request: {
      readonly command: ExecRequest['command'];
      readonly input: boolean;
      readonly patienceMs: number;
    },
  ): Promise<LongExec> {
    const started = await startIn(engine, container, request);
    const output = new Demultiplexer(started.socket);
    output.holdBack();
    return new LongExec(engine, { ...started, output }, request.patienceMs);
  }

  /** Its output; whoever gives up on it gives up on the program. */
  async *output(): AsyncGenerator<Uint8Array> {
    const chunks = this.#running.output.stdout[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { value, done } = await this.#inTime(chunks.next());
        if (done) return;
        yield value;
      }
    } finally {
      await chunks.return?.(undefined);
    }
  }

  /** Hands over its input; resolves early where the program wants no more of it. */
  async give(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const { socket } = this.#running;
    for await (const chunk of chunks) {
      if (socket.destroyed || socket.writableEnded) return;
      if (!socket.write(chunk)) await this.#inTime(untilRoom(socket));
    }
  }

  /** Says that there is no more input. */
  endInput(): void {
    this.#running.socket.end();
  }

  /** Its exit code, once it has ended. */
  async code(): Promise<number> {
    await this.#inTime(this.#running.output.ended);
    return codeOf(this.#engine, this.#running.id, { deadlineMs: this.#patienceMs });
  }

  close(): void {
    this.#running.socket.destroy();
  }

  async #inTime<T>(step: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await Promise.race([
        step,
        new Promise<never>((_, reject) => {
          timer = setTimeout(() => {
            this.close();
            reject(new Error(`nothing was heard of it for ${this.#patienceMs / 1000} s`));
          }, this.#patienceMs);
        }),
      ]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Resolves when more can be written, or nothing any more. */
function untilRoom(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
    if (socket.destroyed) done();
  });
}

async function upTo(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of source) {
    const taken = Buffer.from(chunk.subarray(0, maxBytes - length));
    parts.push(taken);
    length += taken.length;
  }
  return Buffer.concat(parts);
}

/** Its streams end a moment before the engine has its code. */
async function codeOf(
  engine: Engine,
  id: string,
  { deadlineMs, signal }: Pick<ExecRequest, 'deadlineMs' | 'signal'>,
): Promise<number> {
  const deadline = Date.now() + Math.min(deadlineMs, 5000);
  for (let wait = 1; ; wait = Math.min(wait * 2, 100)) {
    signal?.throwIfAborted();
    const { Running, ExitCode } = await engine.call<{ Running: boolean; ExitCode: number | null }>(
      'GET',
      `/exec/${id}/json`,
    );
    if (!Running && ExitCode !== null) return ExitCode;
    if (Date.now() > deadline) throw new Error('what was started in the container did not end in time');
    await delay(wait, undefined, { ...(signal === undefined ? {} : { signal }) });
  }
}
