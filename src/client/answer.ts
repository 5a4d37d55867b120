/** Reading what a server answers: nothing of it is believed before a schema has seen it. */
import type { z } from 'zod';
import { SandboxError } from '../errors.ts';

/** More in one answer would be no answer. */
export const MAX_ANSWER_BYTES = 256 * 1024 ** 2;

/** The whole body. Throws `SANDBOX_FAILED` when it is larger than an answer may be. */
export async function bytesOf(answer: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) throw malformed('this', `it has more than ${MAX_ANSWER_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** What is no JSON is nothing, and no schema takes that. */
export function jsonOrUndefined(text: string | Buffer): unknown {
  try {
    return JSON.parse(text.toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Throws `SANDBOX_FAILED`, naming the member, for what is not of this form. */
export function parseAnswer<Answer>(schema: z.ZodType<Answer>, json: unknown, what: string): Answer {
  const read = schema.safeParse(json);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  throw malformed(what, json === undefined ? 'it is no JSON.' : `${where}${issue?.message}.`);
}

/** An answer that is not as it must be. */
export function malformed(what: string, why: string): SandboxError {
  return new SandboxError('SANDBOX_FAILED', `The server's answer to ${what} is not understood: ${why}`, {
    hint: 'Check that the address is that of `glovebox serve`, and that it is not of an older version than this client.',
  });
}
