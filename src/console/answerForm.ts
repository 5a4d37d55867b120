import { z } from 'zod';
import { SandboxError } from '../errors.ts';
import type { Answer } from '../operations/approvals.ts';

const seconds = z.coerce.number().int().positive();
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional());

const answerSchema = z.discriminatedUnion('answer', [
  z.object({
    answer: z.literal('approve'),
    hash: z.string(),
    scope: z.enum(['once', 'exact', 'operation']),
    for_sec: optional(seconds),
    count: optional(z.coerce.number().int().min(2)),
    read: optional(z.literal('yes')),
  }),
  z.object({ answer: z.literal('deny'), hash: z.string(), reason: optional(z.string()) }),
]);

/** What a person has answered, and the hash of what was shown. */
export interface GivenAnswer {
  readonly hash: string;
  readonly answer: Answer;
  /** Said so by hand, which a grave risk takes. */
  readonly hasRead: boolean;
}

/** Reads a form; anything but a plain yes or no throws `INPUT_INVALID`. Pure. */
export function answerFrom(form: Readonly<Record<string, unknown>>): GivenAnswer {
  const { success, data } = answerSchema.safeParse(form);
  if (!success) {
    throw new SandboxError('INPUT_INVALID', 'The answer is neither a yes nor a no that can be understood.', {
      hint: 'Go back and choose one; a number of times is 2 or more.',
    });
  }
  if (data.answer === 'deny') {
    const reason = data.reason === undefined ? {} : { reason: data.reason };
    return { hash: data.hash, hasRead: false, answer: { approved: false, ...reason } };
  }
  const { hash, scope, for_sec: forSec, count, read } = data;
  const hasRead = read === 'yes';
  if (scope === 'once') return { hash, hasRead, answer: { approved: true } };
  const grant = {
    scope,
    ...(forSec === undefined ? {} : { forSec }),
    ...(count === undefined ? {} : { count }),
  };
  return { hash, hasRead, answer: { approved: true, grant } };
}
