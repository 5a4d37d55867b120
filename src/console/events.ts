import type { Context } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import type { ConsoleBackend, ConsoleChange } from './backend.ts';
import { shown } from './shownText.ts';

/** A comment this often keeps what lies between from closing the connection. */
const HEARTBEAT_MS = 15_000;

export interface EventsRequest {
  /** The execution whose output is wanted as well, and after what. */
  readonly output?: { readonly execution: string; readonly after: number };
  /** Whether whoever listens is still signed in. */
  readonly isSignedIn: () => Promise<boolean>;
}

/** Tells a page what changes, and what an execution prints, until the page or the session is gone. */
export function eventsResponse(
  context: Context,
  backend: ConsoleBackend,
  { output, isSignedIn }: EventsRequest,
): Response {
  return streamSSE(context, async (stream) => {
    const gone = new AbortController();
    stream.onAbort(() => gone.abort());
    context.req.raw.signal.addEventListener('abort', () => gone.abort(), { once: true });
    const ends = [tellChanges(stream, backend, gone.signal), keepAlive(stream, isSignedIn, gone.signal)];
    // From here on the page is told of every change, and looks once for what was before.
    await stream.write(': here\n\n');
    if (output !== undefined) ends.push(tellOutput(stream, backend, output, gone.signal));
    try {
      await Promise.race(ends.slice(0, 2));
    } finally {
      gone.abort();
      await Promise.all(ends);
    }
  });
}

/** However many changes there are while one is told, they are told as one. */
async function tellChanges(
  stream: SSEStreamingApi,
  backend: ConsoleBackend,
  gone: AbortSignal,
): Promise<void> {
  const changed = new Set<ConsoleChange>();
  let ring = (): void => {};
  const stop = backend.watch((change) => {
    changed.add(change);
    ring();
  });
  gone.addEventListener('abort', () => ring(), { once: true });
  try {
    while (!gone.aborted) {
      if (changed.size === 0) {
        await new Promise<void>((resolve) => {
          ring = resolve;
        });
        continue;
      }
      const data = [...changed].sort().join(' ');
      changed.clear();
      await stream.writeSSE({ event: 'change', data });
    }
  } finally {
    stop();
  }
}

async function tellOutput(
  stream: SSEStreamingApi,
  backend: ConsoleBackend,
  { execution, after }: NonNullable<EventsRequest['output']>,
  signal: AbortSignal,
): Promise<void> {
  for await (const piece of backend.output(execution, { after, follow: true, signal })) {
    if (signal.aborted) return;
    const id = String(piece.next);
    const data =
      piece.type === 'gap'
        ? { stream: piece.stream, dropped_bytes: piece.droppedBytes }
        : { stream: piece.stream, text: shown(piece.text) };
    await stream.writeSSE({ event: piece.type, id, data: JSON.stringify(data) });
  }
}

async function keepAlive(
  stream: SSEStreamingApi,
  isSignedIn: () => Promise<boolean>,
  gone: AbortSignal,
): Promise<void> {
  while (await beat(gone)) {
    if (await isSignedIn()) await stream.write(': still here\n\n');
    else return void (await stream.writeSSE({ event: 'signed-out', data: '' }));
  }
}

/** Resolves to whether to go on. */
function beat(gone: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (gone.aborted) return resolve(false);
    const stop = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      gone.removeEventListener('abort', stop);
      resolve(true);
    }, HEARTBEAT_MS);
    gone.addEventListener('abort', stop, { once: true });
  });
}
