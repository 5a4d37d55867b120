import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ClientHello, ClientHelloReader, looksLikeTls } from './clientHello.ts';
import { Overdue, within } from './deadline.ts';
import type { Authority } from './host.ts';
import type { ProxyLimits } from './limits.ts';
import { quoted, Refusal } from './refusal.ts';
import { judgeHello } from './serverName.ts';

/** The port on which nothing but TLS is let through. */
const TLS_PORT = 443;

/** "Access denied", as a TLS server says it before it says anything else: clients then show more than a cut connection. */
const TLS_ALERT = Buffer.from([21, 3, 3, 0, 2, 2, 49]);

/**
 * Lets bytes pass between a client and the host until both are done, and resolves then: to why it was ended, or to
 * nothing. Where the client speaks TLS, and always on its port, no byte of it passes before its hello named the host;
 * what a client asks for later, in a second hello or encrypted, is between it and the host.
 */
export async function tunnel(
  stream: Duplex,
  socket: Socket,
  { target, limits, signal }: { target: Authority; limits: ProxyLimits; signal: AbortSignal },
): Promise<Refusal | undefined> {
  let ended: Refusal | undefined;
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  stream.once('close', () => socket.destroy());
  socket.once('close', () => {
    // After its end all that it said is on its way to the client; without one, half an answer must not look like a whole one.
    if (!socket.readableEnded && ended === undefined) stream.destroy();
  });
  socket.setTimeout(limits.idleSec * 1000, () => {
    const what = `nothing passed in the tunnel to ${quoted(target.host.name)} for ${limits.idleSec} s`;
    ended ??= new Refusal('timeout', `Glovebox: ${what}.`);
    socket.destroy();
    stream.destroy();
  });
  const mustBeTls = target.port === TLS_PORT;
  // On other ports the host may be the one who speaks first.
  if (!mustBeTls) socket.pipe(stream);
  const refusal = await judgeFirstBytes(stream, target, {
    mustBeTls,
    seconds: mustBeTls ? limits.helloSec : limits.totalSec,
    signal,
  });
  if (refusal !== undefined) {
    ended ??= refusal;
    socket.unpipe(stream);
    socket.destroy();
    stream.end(TLS_ALERT);
    stream.resume();
  } else if (stream.destroyed) {
    socket.destroy();
  } else {
    if (mustBeTls) socket.pipe(stream);
    stream.pipe(socket);
  }
  await closed;
  return ended;
}

interface FirstBytes {
  readonly mustBeTls: boolean;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

async function judgeFirstBytes(
  stream: Duplex,
  { host }: Authority,
  { mustBeTls, seconds, signal }: FirstBytes,
): Promise<Refusal | undefined> {
  try {
    const { tls, hello } = await within(seconds, signal, () => readFirstBytes(stream));
    return tls || mustBeTls ? judgeHello(hello, host) : undefined;
  } catch (error) {
    if (error instanceof Overdue) {
      return new Refusal(
        'not_tls',
        `Glovebox: no whole TLS hello came in the tunnel to ${quoted(host.name)} within ${seconds} s.`,
      );
    }
    // The client is gone, and nobody is left to be refused.
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** Reads as much as a TLS hello needs, or as shows that there is none, and puts it back. */
function readFirstBytes(stream: Duplex): Promise<{ tls: boolean; hello: ClientHello }> {
  return new Promise((resolve) => {
    const reader = new ClientHelloReader();
    const chunks: Buffer[] = [];
    const done = (hello: ClientHello): void => {
      stream.off('data', onData);
      stream.off('end', onEnd);
      stream.pause();
      const bytes = Buffer.concat(chunks);
      if (bytes.length > 0 && !stream.readableEnded) stream.unshift(bytes);
      resolve({ tls: bytes.length > 0 && looksLikeTls(bytes), hello });
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      const hello = reader.read(chunk);
      if (hello !== undefined) done(hello);
    };
    const onEnd = (): void => done({ problem: 'it ended before its hello did' });
    stream.on('data', onData);
    stream.on('end', onEnd);
    if (stream.readableEnded) onEnd();
  });
}
