/** One execution on a server: its start, its output as it comes, and its result. */
import type { z } from 'zod';
import { SandboxError } from '../errors.ts';
import type { RichResult } from '../result/contextExecution.ts';
import type { OnOutput } from '../result/output.ts';
import { richResultSchema } from '../result/resultFromJson.ts';
import type { StreamName } from '../sandbox/outputPage.ts';
import { decodeStream, type TextStream } from '../sandbox/textStream.ts';
import { malformed, parseAnswer } from './answer.ts';
import { errorFromJson, ServerError } from './errors.ts';
import { followEvents } from './events.ts';
import { executionPath } from './paths.ts';
import type { Transport } from './transport.ts';
import { gapEvent, outputEvent, startedAnswer } from './wire.ts';

/** Who is told what while it goes on. */
export interface Listeners {
  readonly onOutput?: OnOutput;
  readonly onResult?: (result: RichResult) => void;
  readonly onStart?: (started: { readonly executionId: string }) => void;
  /** Cancels it on the server; its result says so. */
  readonly signal?: AbortSignal;
}

export interface Start<Result> extends Listeners {
  /** What the program is sent to. */
  readonly path: string;
  readonly json: unknown;
  readonly schema: z.ZodType<Result>;
}

/** What came of it, and how much of its output came too late to be told. */
export interface Followed<Result> {
  readonly result: Result;
  readonly missed: Readonly<Record<StreamName, number>>;
}

/** Starts it and follows it to its end. */
export function runOn<Result>(
  transport: Transport,
  { path, json, schema, ...listeners }: Start<Result>,
): Promise<Followed<Result>> {
  const run = async (): Promise<Followed<Result>> => {
    const question = { method: 'POST', path, query: { wait: false }, json, retry: true } as const;
    const { executionId } = await transport.json(question, startedAnswer);
    return follow(transport, executionId, schema, listeners);
  };
  return transport.track(run());
}

/** Follows one that was started. Whatever keeps it from coming to its end here ends it there, too. */
export function followOn<Result>(
  transport: Transport,
  executionId: string,
  schema: z.ZodType<Result>,
  listeners: Listeners,
): Promise<Followed<Result>> {
  return transport.track(follow(transport, executionId, schema, listeners));
}

async function follow<Result>(
  transport: Transport,
  executionId: string,
  schema: z.ZodType<Result>,
  { onOutput, onResult, onStart, signal }: Listeners,
): Promise<Followed<Result>> {
  const path = executionPath(executionId);
  const cancel = (): void => {
    // That it cannot be told is told by the events, which do not come either.
    transport.tell({ method: 'DELETE', path, retry: true }).catch(() => {});
  };
  const signals = [signal, transport.ending];
  if (signals.some((one) => one?.aborted)) cancel();
  for (const one of signals) one?.addEventListener('abort', cancel, { once: true });
  const missed = { stdout: 0, stderr: 0 };
  const texts = { stdout: decodeStream(), stderr: decodeStream() };
  const wantsOutput = onOutput !== undefined || onResult !== undefined;
  let isOver = false;
  try {
    onStart?.({ executionId });
    for await (const event of executionEvents(transport, executionId, schema, wantsOutput)) {
      switch (event.type) {
        case 'output':
          await onOutput?.({
            stream: event.stream,
            bytes: event.bytes,
            text: texts[event.stream].push(event.bytes),
          });
          break;
        case 'gap':
          missed[event.stream] += event.bytes;
          break;
        case 'rich':
          onResult?.(event.result);
          break;
        case 'result':
          isOver = true;
          if (onOutput !== undefined) await tellRests(texts, onOutput);
          return { result: event.result, missed };
      }
    }
    throw malformed(`GET /v1/${path}/events`, 'they have no end.');
  } catch (error) {
    isOver ||= error instanceof ServerError;
    throw error instanceof ServerError && error.status === 404 ? forgotten(executionId) : error;
  } finally {
    for (const one of signals) one?.removeEventListener('abort', cancel);
    if (!isOver && !transport.closed.aborted) cancel();
  }
}

/** Characters that never became whole. */
async function tellRests(texts: Readonly<Record<StreamName, TextStream>>, onOutput: OnOutput): Promise<void> {
  for (const stream of ['stdout', 'stderr'] as const) {
    const text = texts[stream].finish();
    if (text !== '') await onOutput({ stream, text, bytes: new Uint8Array() });
  }
}

export type ExecutionEvent<Result> =
  | {
      readonly type: 'output';
      readonly stream: StreamName;
      readonly offset: number;
      readonly bytes: Uint8Array;
    }
  /** So much of a stream was kept no longer when it was its turn. */
  | { readonly type: 'gap'; readonly stream: StreamName; readonly bytes: number }
  | { readonly type: 'rich'; readonly result: RichResult }
  | { readonly type: 'result'; readonly result: Result };

const LAST = ['result', 'error'];

/**
 * What an execution writes, each byte once and in its order, and at the end its result. Throws what it failed with.
 */
export async function* executionEvents<Result>(
  transport: Transport,
  executionId: string,
  schema: z.ZodType<Result>,
  withOutput = true,
  signal?: AbortSignal,
): AsyncGenerator<ExecutionEvent<Result>> {
  const path = `${executionPath(executionId)}/events`;
  const what = `GET /v1/${path}`;
  const query = withOutput ? {} : { output: 'false' };
  const told = { stdout: 0, stderr: 0 };
  for await (const { type, data } of followEvents(transport, { path, query, signal, last: LAST })) {
    switch (type) {
      case 'output': {
        if (!withOutput) break;
        const { stream, offset, dataBase64 } = parseAnswer(outputEvent, data, what);
        const end = offset + dataBase64.length;
        const from = told[stream];
        if (end <= from) break;
        // A gap that the server did not tell of is one all the same.
        if (offset > from) yield { type: 'gap', stream, bytes: offset - from };
        told[stream] = end;
        const start = Math.max(offset, from);
        yield { type: 'output', stream, offset: start, bytes: dataBase64.subarray(start - offset) };
        break;
      }
      case 'gap': {
        const { stream, droppedBytes } = parseAnswer(gapEvent, data, what);
        told[stream] += droppedBytes;
        yield { type: 'gap', stream, bytes: droppedBytes };
        break;
      }
      case 'rich':
        if (withOutput) yield { type: 'rich', result: parseAnswer(richResultSchema, data, what) };
        break;
      case 'result':
        yield { type: 'result', result: parseAnswer(schema, data, what) };
        return;
      case 'error':
        throw errorFromJson(data) ?? malformed(what, 'an error does not say what it is.');
    }
  }
}

function forgotten(executionId: string): SandboxError {
  return new SandboxError(
    'SANDBOX_FAILED',
    `The server knows nothing of the execution ${executionId} any more: it was started anew, or it forgot what ended long ago.`,
    {
      hint: 'Look at what the code may have done already before you run it again.',
      details: { executionId },
    },
  );
}

/** What is said where output came too late to be told. */
export function missedWarnings({ stdout, stderr }: Followed<unknown>['missed']): readonly string[] {
  const missed = [
    ...(stdout > 0 ? [`${stdout} bytes of stdout`] : []),
    ...(stderr > 0 ? [`${stderr} bytes of stderr`] : []),
  ];
  if (missed.length === 0) return [];
  return [
    `${missed.join(' and ')} were not told while it ran: the server kept them no longer when they were read. The result has what it always has.`,
  ];
}
