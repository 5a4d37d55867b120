/** Server-sent events: what is told as it comes, and again from where somebody was cut off. */
import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '../errors.ts';
import { LOG_START, type LogEntry, type LogPosition } from '../operations/outputLog.ts';
import type { Execution } from './executions.ts';

/** One event; `data` is JSON. */
export interface ServerEvent {
  readonly event: string;
  readonly id?: string;
  readonly data: string;
}

/** Says that somebody still listens here, and to whoever is between that something still comes. */
const HEARTBEAT_MS = 15_000;

/**
 * Resolves to the events that there are now, or, where there are none, once there may be some; to `end` when there will
 * be none any more.
 */
export type NextEvents = () => Promise<readonly ServerEvent[] | 'end'>;

/**
 * An answer of events; the signal comes when the reader has gone. They are asked for only when the reader has room: nobody
 * waits for a slow one, and nothing gathers for him here.
 */
export function eventStream(start: (gone: AbortSignal) => NextEvents, heartbeatMs = HEARTBEAT_MS): Response {
  const gone = new AbortController();
  const next = start(gone.signal);
  const encoder = new TextEncoder();
  let asked: Promise<readonly ServerEvent[] | 'end'> | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          asked ??= next();
          const beat = new AbortController();
          const timer = delay(heartbeatMs, 'beat' as const, { signal: beat.signal }).catch(
            () => 'beat' as const,
          );
          const events = await Promise.race([asked, timer]).finally(() => beat.abort());
          if (gone.signal.aborted) return;
          if (events === 'beat') {
            controller.enqueue(encoder.encode(':\n\n'));
            return;
          }
          asked = undefined;
          if (events === 'end') {
            controller.close();
            return;
          }
          if (events.length === 0) continue;
          controller.enqueue(encoder.encode(events.map(textOf).join('')));
          return;
        }
      },
      cancel() {
        gone.abort();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    },
  });
}

function textOf({ event, id, data }: ServerEvent): string {
  // JSON has no line breaks of its own.
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}

/** How much is told at once. */
const CHUNK_BYTES = 64 * 1024;

/**
 * All that an execution writes and what comes of it, or only the latter, from the beginning or behind the event that was
 * seen last.
 */
export function executionEvents(
  { log, settled, ...execution }: Pick<Execution, 'log' | 'settled'> & { outcome(): ServerEvent },
  lastSeen: string | undefined,
  withOutput = true,
): Response {
  const seen = positionFrom(lastSeen);
  // Nothing comes behind the end: this status keeps a browser from asking again.
  if (seen === 'end') return new Response(null, { status: 204 });
  let position: LogPosition = seen;
  let isOver = false;
  return eventStream((gone) => async () => {
    if (isOver) return 'end';
    while (withOutput) {
      const changed = log.changed();
      const entries = log.after(position, CHUNK_BYTES);
      if (entries.length > 0) {
        position = entries.at(-1)?.next ?? position;
        return entries.map(eventOf);
      }
      if (log.ended) break;
      // One who has gone is noticed at the next news, and waits for nothing but these.
      await changed;
      if (gone.aborted) return 'end';
    }
    await settled;
    isOver = true;
    return [{ ...execution.outcome(), id: `${idOf(position)}.end` }];
  });
}

function eventOf(entry: LogEntry): ServerEvent {
  const id = idOf(entry.next);
  if (entry.type === 'rich') return { event: 'rich', id, data: entry.json };
  const { stream } = entry;
  if (entry.type === 'gap') {
    return { event: 'gap', id, data: JSON.stringify({ stream, dropped_bytes: entry.droppedBytes }) };
  }
  const data_base64 = Buffer.from(entry.bytes).toString('base64');
  return { event: 'output', id, data: JSON.stringify({ stream, offset: entry.offset, data_base64 }) };
}

function idOf({ stdout, stderr, rich }: LogPosition): string {
  return `${stdout}.${stderr}.${rich}`;
}

const EVENT_ID = /^(\d{1,15})\.(\d{1,15})\.(\d{1,15})(\.end)?$/;

function positionFrom(id: string | undefined): LogPosition | 'end' {
  if (id === undefined || id === '') return LOG_START;
  const [, stdout, stderr, rich, end] = EVENT_ID.exec(id) ?? [];
  if (stdout === undefined) {
    throw new SandboxError('INPUT_INVALID', 'The header Last-Event-ID names no event of an execution.', {
      hint: 'Send the id of an event as it came, or none to hear all of it.',
    });
  }
  return end === undefined ? { stdout: Number(stdout), stderr: Number(stderr), rich: Number(rich) } : 'end';
}
