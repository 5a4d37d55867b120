import type { ModelMessage } from 'ai';
import { z } from 'zod';
import { SandboxError } from '../../errors.ts';
import { readPrivateFile, writePrivateFile } from '../../files/privateFiles.ts';
import { withoutSecrets } from '../../operations/oversight/recordable.ts';
import { loadAi } from '../model/askModel.ts';
import { withoutPictures } from '../modelOutput.ts';
import { shorten } from '../shorten.ts';
import type { Memory } from './memory.ts';

/** Larger ones are neither written nor read. */
const MAX_BYTES = 32 * 1024 * 1024;

const memorySchema = z.object({
  version: z.literal(1),
  task: z.string(),
  model: z.string(),
  messages: z.array(z.unknown()).min(1),
  executions: z.array(
    z.object({
      ...{ at: z.string(), tool: z.string(), code: z.string().nullable(), language: z.string().nullable() },
      ...{ input: z.unknown(), is_error: z.boolean(), result: z.unknown() },
    }),
  ),
  usage: z.object({
    ...{ steps: z.number(), input_tokens: z.number(), output_tokens: z.number() },
    cost_usd: z.number().optional(),
  }),
});

/** Undefined where there is no file. Throws `INPUT_INVALID` for one that is damaged, of another version, or somebody else's. */
export async function readMemory(path: string): Promise<Memory | undefined> {
  const file = readPrivateFile(path, MAX_BYTES);
  if (file.found === 'nothing') return undefined;
  if (file.found === 'unusable') throw unusable(path, file.reason);
  const value = parsed(file.text);
  const { version } = (value ?? {}) as { version?: unknown };
  if (version !== undefined && version !== 1)
    throw unusable(path, `its version is ${shorten(JSON.stringify(version), 40)}, not 1`);
  const { success, data, error } = memorySchema.safeParse(value);
  if (!success) throw unusable(path, `it is damaged, or no memory of an agent (${where(error)})`);
  const { modelMessageSchema } = await loadAi();
  const broken = data.messages.findIndex((message) => !modelMessageSchema.safeParse(message).success);
  if (broken >= 0) throw unusable(path, `it is damaged (messages.${broken})`);
  return { ...data, messages: data.messages as ModelMessage[] } as Memory;
}

/** Replaces the file as a whole; only its owner may read it. What is secret, and what looks like a key, is taken out. */
export function writeMemory(path: string, memory: Memory, secrets: readonly string[]): void {
  const text = `${JSON.stringify(withoutSecretsOf(memory, secrets), null, 2)}\n`;
  if (Buffer.byteLength(text) > MAX_BYTES) {
    throw new SandboxError(
      'INPUT_INVALID',
      `The memory of the agent has become larger than ${MAX_BYTES} bytes.`,
      {
        hint: 'Begin anew without --resume, with a smaller task.',
        details: { path },
      },
    );
  }
  try {
    writePrivateFile(path, text);
  } catch (error) {
    throw new SandboxError(
      'INPUT_INVALID',
      `The memory of the agent cannot be written: ${(error as Error).message}`,
      {
        hint: 'Name a file in a folder that you may write: --memory FILE',
        details: { path },
        cause: error,
      },
    );
  }
}

function withoutSecretsOf({ messages, ...rest }: Memory, secrets: readonly string[]): unknown {
  const redacted = messages.map(withoutPictures).map(({ content, ...message }) => ({
    ...message,
    content:
      typeof content === 'string'
        ? withoutSecrets(content, secrets)
        : content.map((part) => withoutSecretsInPart(part, secrets)),
  }));
  return { ...withoutSecrets(rest, secrets), messages: redacted };
}

/** What a provider wants to have back unchanged is left alone: nothing that a program printed is in it. */
function withoutSecretsInPart(part: object, secrets: readonly string[]): unknown {
  const { providerOptions, ...rest } = part as { readonly providerOptions?: unknown };
  return { ...withoutSecrets(rest, secrets), ...(providerOptions === undefined ? {} : { providerOptions }) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What is no JSON is told like JSON of another shape.
    return undefined;
  }
}

function where(error: z.ZodError): string {
  return error.issues[0]?.path.join('.') || 'it is no JSON object';
}

function unusable(path: string, reason: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `The memory ${JSON.stringify(path)} cannot be used: ${reason}.`, {
    hint: 'Remove the file, or name another one with --memory FILE.',
    details: { path },
  });
}
