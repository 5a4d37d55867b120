import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Session } from '../session.ts';
import { boundedLines } from './boundedLines.ts';

/** The longest message, in bytes: a file of 10 MB that is written as base64 fits. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

export interface StdioOptions {
  readonly session: Session;
  readonly input: Readable;
  /** Nothing else writes to it. */
  readonly output: Writable;
  readonly signal: AbortSignal;
  readonly onWarning: (message: string) => void;
}

/**
 * Serves one client until its input ends, its output breaks or the signal comes. What still runs is ended then, and
 * every sandbox of the session is gone when this resolves.
 */
export async function serveOverStdio(options: StdioOptions): Promise<void> {
  const { session, input, output, signal, onWarning } = options;
  const lines = boundedLines(MAX_FRAME_BYTES, () =>
    onWarning(`A message of more than ${MAX_FRAME_BYTES} bytes was dropped.`),
  );
  const transport = new StdioServerTransport(lines, output, { maxBufferSize: 2 * MAX_FRAME_BYTES });
  const handle = serveStdio(({ era }) => session.server(era), {
    transport,
    onerror: (error) => onWarning(error.message),
  });
  await over(input, lines, output, signal);
  try {
    await session.close();
  } finally {
    await handle.close();
  }
}

function over(input: Readable, lines: Writable, output: Writable, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => resolve();
    if (signal.aborted) return end();
    signal.addEventListener('abort', end, { once: true });
    input.once('end', end).once('close', end).once('error', end);
    output.once('close', end).on('error', end);
    input.pipe(lines);
  });
}
