import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from './engine.ts';
import { Demultiplexer } from './frames.ts';

export interface ExecRequest {
  readonly command: readonly [string, ...string[]];
  readonly stdin?: Uint8Array;
  /** How much of standard output is kept; the rest is not waited for. */
  readonly maxBytes: number;
  readonly deadlineMs: number;
}

export interface ExecResult {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

const MAX_STDERR_BYTES = 4096;

/** Runs a small program of ours in a container, as the container's own user. */
export async function execIn(engine: Engine, container: string, request: ExecRequest): Promise<ExecResult> {
  const { Id } = await engine.call<{ Id: string }>('POST', `/containers/${container}/exec`, {
    body: {
      Cmd: request.command,
      AttachStdin: request.stdin !== undefined,
      AttachStdout: true,
      AttachStderr: true,
      Tty: false,
    },
  });
  const { socket, head } = await engine.hijack(`/exec/${Id}/start`, { Detach: false, Tty: false });
  if (head.length > 0) socket.unshift(head);
  socket.on('error', () => {});
  const timer = setTimeout(() => socket.destroy(), request.deadlineMs);
  try {
    const output = new Demultiplexer(socket);
    output.holdBack();
    if (request.stdin !== undefined) socket.end(request.stdin);
    const [stdout, stderr] = await Promise.all([
      upTo(output.stdout, request.maxBytes),
      upTo(output.stderr, MAX_STDERR_BYTES),
    ]);
    return { code: await codeOf(engine, Id, request.deadlineMs), stdout, stderr: stderr.toString('utf8') };
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
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
async function codeOf(engine: Engine, id: string, deadlineMs: number): Promise<number> {
  const deadline = Date.now() + Math.min(deadlineMs, 5000);
  for (let wait = 1; ; wait = Math.min(wait * 2, 100)) {
    const { Running, ExitCode } = await engine.call<{ Running: boolean; ExitCode: number | null }>(
      'GET',
      `/exec/${id}/json`,
    );
    if (!Running && ExitCode !== null) return ExitCode;
    if (Date.now() > deadline) throw new Error('a file operation in the container did not end in time');
    await delay(wait);
  }
}
