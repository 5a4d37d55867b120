/** The output of an execution as pages and as lines, from its events. */
import { z } from 'zod';
import { LineCutter, type OutputLine } from '../sandbox/lines.ts';
import { type OutputPage, type PageRequest, readPage, type StreamName } from '../sandbox/outputPage.ts';
import { decodeStream } from '../sandbox/textStream.ts';
import { executionEvents } from './execution.ts';
import { executionPath } from './paths.ts';
import type { Transport } from './transport.ts';
import { pageAnswer } from './wire.ts';

/** A page of what an execution wrote so far. */
export async function pageOf(
  transport: Transport,
  executionId: string,
  { stream, offset, limit }: PageRequest = {},
): Promise<OutputPage> {
  const path = `${executionPath(executionId)}/output`;
  return transport.json({ path, query: { stream, offset, limit } }, pageAnswer);
}

/** Page after page as it comes, from any offset, until the execution has ended. */
export async function* followPages(
  transport: Transport,
  executionId: string,
  request: PageRequest = {},
): AsyncGenerator<OutputPage> {
  const { stream = 'stdout', offset = 0 } = request;
  const pending = new Pending(offset);
  for await (const event of executionEvents(transport, executionId, z.unknown())) {
    if (event.type === 'gap' && event.stream === stream) pending.drop(event.bytes);
    if (event.type === 'output' && event.stream === stream) pending.push(event.offset, event.bytes);
    if (event.type === 'result') pending.ended = true;
    for (;;) {
      const page = readPage(pending, { ...request, offset: pending.offset });
      if (page.bytes.length === 0) break;
      yield page;
      pending.take(page.nextOffset);
    }
  }
}

/** What has come of one stream and was not told. */
class Pending {
  /** What is asked for next. */
  offset: number;
  ended = false;
  totalBytes = 0;
  droppedBytes = 0;
  #bytes: Uint8Array = new Uint8Array();

  constructor(offset: number) {
    this.offset = offset;
  }

  push(offset: number, bytes: Uint8Array): void {
    this.totalBytes = offset + bytes.length;
    const wanted = bytes.subarray(Math.max(0, this.offset - offset));
    this.#bytes = this.#bytes.length === 0 ? wanted : Buffer.concat([this.#bytes, wanted]);
  }

  drop(bytes: number): void {
    this.totalBytes += bytes;
    this.droppedBytes = this.totalBytes;
  }

  take(nextOffset: number): void {
    this.#bytes = this.#bytes.subarray(Math.max(0, nextOffset - (this.totalBytes - this.#bytes.length)));
    this.offset = nextOffset;
  }

  /** As a stream that is kept has it. */
  copy(offset: number, limit: number): { readonly offset: number; readonly bytes: Uint8Array } {
    const first = this.totalBytes - this.#bytes.length;
    const start = Math.max(offset, first);
    return { offset: start, bytes: this.#bytes.subarray(start - first, start - first + limit) };
  }
}

/** Every line that comes, from the beginning on, until the execution has ended. */
export async function* linesOf(
  transport: Transport,
  executionId: string,
  wanted: readonly StreamName[],
  signal?: AbortSignal,
): AsyncGenerator<OutputLine> {
  const readers = {
    stdout: { cutter: new LineCutter(), text: decodeStream() },
    stderr: { cutter: new LineCutter(), text: decodeStream() },
  };
  for await (const event of executionEvents(transport, executionId, z.unknown(), true, signal)) {
    if (event.type !== 'output' && event.type !== 'gap') continue;
    const { stream } = event;
    if (!wanted.includes(stream)) continue;
    const { cutter, text } = readers[stream];
    // What was left out in between belongs to no line.
    if (event.type === 'gap') cutter.finish();
    else for (const line of cutter.push(text.push(event.bytes))) yield { stream, text: line };
  }
  for (const stream of wanted) {
    const { cutter, text } = readers[stream];
    for (const line of cutter.push(text.finish())) yield { stream, text: line };
    const rest = cutter.finish();
    if (rest !== undefined) yield { stream, text: rest };
  }
}
