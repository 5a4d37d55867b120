/** Server-sent events, heard from the first to the last though the connection may be cut in between. */
import type { ReadableStreamDefaultReader } from 'node:stream/web';
import { setTimeout as delay } from 'node:timers/promises';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { SandboxError } from '../errors.ts';
import { jsonOrUndefined, MAX_ANSWER_BYTES, malformed } from './answer.ts';
import { deadline, pause } from './deadline.ts';
import { ServerError, unreachable } from './errors.ts';
import { isCut, type Transport } from './transport.ts';

export interface ServerEvent {
  readonly type: string;
  readonly data: unknown;
}

export interface EventsQuestion {
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
  /** The types behind which nothing comes. */
  readonly last?: readonly string[];
  /** A server that says nothing for so long has gone. */
  readonly silenceMs?: number;
}

/** A server sends something at least every 15 s. */
const SILENCE_MS = 45_000;

/** A connection that held for so long was none that is refused over and over. */
const STEADY_MS = 10_000;

/**
 * The events from the first on; whoever has heard the last one returns. After a cut the server is asked for those behind
 * the last that came, for as long as the transport waits for one. Throws `RUNTIME_UNAVAILABLE` after that, and
 * whatever the server answers instead of events.
 */
export async function* followEvents(
  transport: Transport,
  { path, query = {}, signal, last = [], silenceMs = SILENCE_MS }: EventsQuestion,
): AsyncGenerator<ServerEvent, never> {
  let lastId: string | undefined;
  let lostSince: number | undefined;
  for (let attempt = 0; ; attempt++) {
    const openedAt = performance.now();
    const control = new AbortController();
    let cause: unknown;
    try {
      const headers = {
        accept: 'text/event-stream',
        ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
      };
      const answer = await transport.open({ path, query, headers, signal }, control);
      const signals = [transport.closed, signal];
      const messages = messagesOf(answer, path, silenceMs, signals);
      for await (const { event = 'message', data, id } of messages) {
        // Before it is told: whoever is told may not come back here.
        lastId = id ?? lastId;
        lostSince = undefined;
        attempt = 0;
        if (last.includes(event)) {
          await endOf(messages);
          // What is still being read would be waited for.
          control.abort();
        }
        yield { type: event, data: jsonOrUndefined(data) };
      }
    } catch (error) {
      if (transport.closed.aborted || signal?.aborted || !mayPass(error)) throw error;
      cause = error;
    } finally {
      control.abort();
    }
    const now = performance.now();
    if (now - openedAt > STEADY_MS) [lostSince, attempt] = [undefined, 0];
    lostSince ??= now;
    const leftMs = lostSince + transport.reconnectMs - now;
    if (leftMs <= 0) throw lost(transport, cause);
    using limit = deadline(leftMs, transport.closed, signal);
    await pause(attempt, leftMs, limit.signal);
  }
}

/** An answer that was read to its end leaves its connection for others; this one has told all, and gets a moment for that. */
async function endOf(messages: AsyncGenerator<unknown>): Promise<void> {
  const over = new AbortController();
  const moment = delay(LAST_MOMENT_MS, undefined, { signal: over.signal });
  // However it ends: what was asked for is there.
  await Promise.race([messages.next().catch(() => {}), moment.catch(() => {})]);
  over.abort();
}

const LAST_MOMENT_MS = 500;

/** The messages of one answer, to its end; throws where it breaks off or falls silent. */
async function* messagesOf(
  answer: Response,
  path: string,
  silenceMs: number,
  signals: readonly (AbortSignal | undefined)[],
): AsyncGenerator<EventSourceMessage> {
  const type = answer.headers.get('content-type') ?? '';
  if (answer.body === null || !/^text\/event-stream\b/i.test(type)) {
    throw malformed(`GET /v1/${path}`, 'it is no stream of events.');
  }
  const messages: EventSourceMessage[] = [];
  const parser = createParser({
    onEvent: (message) => messages.push(message),
    maxBufferSize: MAX_ANSWER_BYTES,
    onError({ type: kind }) {
      if (kind === 'max-buffer-size-exceeded') throw malformed(`GET /v1/${path}`, 'an event has no end.');
    },
  });
  const decoder = new TextDecoder();
  const reader = answer.body.getReader();
  try {
    for (;;) {
      const { done, value } = await readWithin(reader, silenceMs, signals);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* messages.splice(0);
    }
  } finally {
    // Not waited for: it would wait for what is being read. A cut was told already.
    reader.cancel().catch(() => {});
  }
}

/** Only our own waiting counts as silence: whoever hears the events may take his time. */
async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silenceMs: number,
  signals: readonly (AbortSignal | undefined)[],
) {
  using limit = deadline(silenceMs, ...signals);
  const silent = new Promise<never>((_, reject) => {
    const give = (): void => reject(new Silence());
    if (limit.signal.aborted) give();
    limit.signal.addEventListener('abort', give, { once: true });
  });
  // Awaited here: the time ends with this function.
  return await Promise.race([reader.read(), silent]);
}

class Silence extends Error {}

/** What another attempt may get over; what the server says on purpose is none of it, but that it has too much to do. */
function mayPass(error: unknown): boolean {
  if (error instanceof ServerError) return error.isCut || error.status === 429;
  return isCut(error) || !(error instanceof SandboxError);
}

function lost({ host, reconnectMs }: Transport, cause: unknown): SandboxError {
  const { code, message, hint, details } = unreachable(
    host,
    `the connection was lost, and did not come back within ${reconnectMs / 1000} s`,
  );
  return new SandboxError(code, message, { hint, details, cause });
}
