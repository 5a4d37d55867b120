import type { Socket } from 'node:net';
import { SandboxError } from '../../errors.ts';
import type { Relay, RelayStreams, RelayWish } from '../runtime.ts';
import type { Engine } from './engine.ts';
import { startIn } from './exec.ts';
import { Demultiplexer, firstBytes } from './frames.ts';

/** The first line on standard output: the relay is about to take over. */
const STARTED = 'glovebox: started';

/** Longer than that line. */
const MAX_FIRST_LINE = 200;

/** How long an engine may take until the relay is on its way. */
const START_DEADLINE_MS = 60_000;

/** How much of what the shell complained about is read. */
const MAX_COMPLAINT_BYTES = 2000;

/** `dd` takes whole blocks of this size from a pipe, and no byte more. */
const BLOCK = 512;

/**
 * Arguments: how many blocks, how many bytes of them, the relay's port. The relay comes in on standard input and has
 * lost its name before it runs: nothing of it lies about for a program.
 */
const SCRIPT = `
fail() { printf '%s\\n' "$1" >&2; exit 125; }
file=/dev/shm/.glovebox-relay
umask 077
dd bs=${BLOCK} iflag=fullblock count="$1" 2>/dev/null | head -c "$2" >"$file" || fail 'cannot write the relay'
chmod 500 "$file" && exec 3<"$file" && rm -f "$file" || fail 'cannot keep the relay'
printf '%s\\n' '${STARTED}'
exec /proc/self/fd/3 "$3"
`;

/** A relay in its place. */
export interface PlacedRelay {
  readonly relay: Relay;
  /** Lets go of it; it ends with its container at the latest. */
  release(): void;
}

/**
 * Runs the relay in a container, as the sandbox's own user and held like every program there. Throws
 * `SANDBOX_FAILED` when it does not say that it is ready.
 */
export async function placeRelay(
  engine: Engine,
  container: string,
  program: Uint8Array,
  wish: RelayWish,
): Promise<PlacedRelay> {
  const blocks = Math.ceil(program.byteLength / BLOCK);
  const words = [blocks, program.byteLength, wish.port].map(String);
  let socket: Socket | undefined;
  try {
    ({ socket } = await startIn(engine, container, {
      command: ['/bin/sh', '-c', SCRIPT, 'glovebox', ...words],
      input: true,
    }));
    const relay = await wish.attach(await takeOff(socket, program, blocks));
    // No reason for this process to go on: a program that needs it is.
    socket.unref();
    return { relay, release: () => socket?.destroy() };
  } catch (error) {
    socket?.destroy();
    throw relayFailed(error);
  }
}

/** Sends the relay in; resolves when the shell is about to become it. */
async function takeOff(socket: Socket, program: Uint8Array, blocks: number): Promise<RelayStreams> {
  const { stdout, stderr } = new Demultiplexer(socket);
  socket.write(program);
  socket.write(Buffer.alloc(blocks * BLOCK - program.byteLength));
  const timer = setTimeout(() => socket.destroy(), START_DEADLINE_MS);
  const first = await stdout.line(MAX_FIRST_LINE).finally(() => clearTimeout(timer));
  if (first !== STARTED)
    throw new Error((await firstBytes(stderr, MAX_COMPLAINT_BYTES)) || 'it said nothing');
  stdout.holdBack();
  // It has nothing to say there, and nobody waits for it.
  stderr.destroy();
  return { input: socket, output: stdout };
}

function relayFailed(error: unknown): SandboxError {
  return new SandboxError(
    'SANDBOX_FAILED',
    `The relay of the sandbox's network did not start: ${(error as Error).message}`,
    { hint: 'Nothing was run. Try again; if it fails each time, run: glovebox doctor', cause: error },
  );
}
