import { Bell } from '../../bell.ts';
import type { HostEvent } from './protocol.ts';

export type Tell = (event: HostEvent) => Promise<void>;

/**
 * An answer of one JSON object on each line, told as they come, by several at a time too. `Tell` resolves when the reader
 * has room for more, which holds back a program whose output nobody reads. The signal comes when the reader is gone.
 */
export function eventStream(produce: (tell: Tell, signal: AbortSignal) => Promise<void>): Response {
  const gone = new AbortController();
  const room = new Bell();
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const tell: Tell = async (event) => {
          if (gone.signal.aborted) return;
          controller.enqueue(Buffer.from(`${JSON.stringify(event)}\n`));
          while (!gone.signal.aborted && (controller.desiredSize ?? 0) <= 0) await room.rung();
        };
        produce(tell, gone.signal).then(
          () => {
            if (!gone.signal.aborted) controller.close();
          },
          (error: unknown) => controller.error(error),
        );
      },
      pull() {
        room.ring();
      },
      cancel() {
        gone.abort();
        room.ring();
      },
    },
    { highWaterMark: 64 * 1024, size: (chunk) => chunk?.byteLength ?? 0 },
  );
  return new Response(body, { headers: { 'content-type': 'application/x-ndjson' } });
}
