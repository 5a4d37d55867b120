import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { asSentence } from '../sentence.ts';

/** How long a program may take to say what it is. */
const DEADLINE_MS = 10_000;

/**
 * What a program of the host prints when it is asked about itself, on either stream. Throws an error whose message
 * is a sentence: the program is broken, or does not answer by the deadline.
 */
export async function ask(
  path: string,
  args: readonly string[],
  deadlineMs: number = DEADLINE_MS,
): Promise<string> {
  try {
    const options = { env: {}, timeout: deadlineMs, killSignal: 'SIGKILL' } as const;
    const { stdout, stderr } = await promisify(execFile)(path, args, options);
    return stdout + stderr;
  } catch (error) {
    throw new Error(`${path} does not run: ${whyNot(error as Failure, deadlineMs)}`, { cause: error });
  }
}

interface Failure extends Error {
  readonly code?: number | string | null;
  readonly killed?: boolean;
  readonly signal?: string | null;
  readonly stderr?: string;
}

function whyNot({ code, killed, signal, stderr = '', message }: Failure, deadlineMs: number): string {
  if (killed) return `it has not answered within ${deadlineMs / 1000} s.`;
  if (typeof code === 'string') return asSentence(message);
  const end = signal ? `it was ended by ${signal}` : `it ended with ${code}`;
  return asSentence(stderr.trim() === '' ? end : `${end}: ${stderr.trim().slice(0, 300)}`);
}
