/** One answer of a model: what it says, and what it wants to be called. */
import type { LanguageModel, ModelMessage, ToolSet } from 'ai';
import { SandboxError } from '../../errors.ts';
import { withoutSecrets } from '../../operations/oversight/recordable.ts';
import type { AgentTool } from '../agentTool.ts';
import { isTooDeep } from '../depth.ts';
import type { Spent } from '../limits.ts';
import { optionalPackage } from './optionalPackage.ts';

export interface Question {
  readonly model: LanguageModel;
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly AgentTool[];
  readonly signal?: AbortSignal | undefined;
  /** What an error must not say, such as the key. */
  readonly secrets?: readonly string[];
}

export interface WantedCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** Why it cannot be called as it is: no such tool, or no JSON. */
  readonly unusable?: string;
}

export interface Reply {
  readonly text: string;
  readonly thought: string;
  readonly calls: readonly WantedCall[];
  /** What is to stand in the conversation; without the results of calls. */
  readonly messages: readonly ModelMessage[];
  /** Undefined where the model does not say. */
  readonly spent: Spent | undefined;
  readonly finishReason: string;
}

/** Asks once; no tool is called. Throws `MODEL_FAILED`, or the reason of the signal. */
export async function askModel({
  model,
  system,
  messages,
  tools,
  signal,
  secrets = [],
}: Question): Promise<Reply> {
  const { streamText } = await loadAi();
  try {
    const asked = streamText({
      ...{ model, system, messages: [...messages], tools: await withoutHands(tools) },
      ...(signal === undefined ? {} : { abortSignal: signal }),
      // It is thrown below.
      onError: () => {},
    });
    for await (const part of asked.fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'abort') break;
    }
    signal?.throwIfAborted();
    // It could be neither told again nor kept.
    if ((await asked.toolCalls).some(({ input }) => isTooDeep(input)))
      throw new Error('what it wants a tool to be called with is nested too deeply');
    const [text, thought, toolCalls, response, usage, finishReason] = await Promise.all([
      ...[asked.text, asked.reasoningText, asked.toolCalls, asked.response, asked.usage, asked.finishReason],
    ] as const);
    return {
      ...{ text, thought: thought ?? '', finishReason, spent: spentOf(usage) },
      calls: toolCalls.map((call) => ({
        ...{ id: call.toolCallId, name: call.toolName, input: call.input },
        ...(call.dynamic && call.invalid ? { unusable: describe(call.error) } : {}),
      })),
      messages: response.messages.filter(({ role }) => role === 'assistant'),
    };
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw modelFailed(error, secrets);
  }
}

/** The package `ai`. Throws `CONFIG_INVALID` where it is not installed. */
export function loadAi(): Promise<typeof import('ai')> {
  return optionalPackage('ai', 'for agents', () => import('ai'));
}

/** The tools as the model is told of them; we call them ourselves. */
async function withoutHands(tools: readonly AgentTool[]): Promise<ToolSet> {
  const { jsonSchema } = await loadAi();
  return Object.fromEntries(
    tools.map(({ name, description, parameters }) => [
      name,
      { description, inputSchema: jsonSchema(parameters as Parameters<typeof jsonSchema>[0]) },
    ]),
  );
}

function spentOf({
  inputTokens,
  outputTokens,
}: {
  inputTokens: number | undefined;
  outputTokens: number | undefined;
}): Spent | undefined {
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  return { inputTokens, outputTokens };
}

function modelFailed(error: unknown, secrets: readonly string[]): SandboxError {
  const { statusCode, lastError } = error as { statusCode?: number; lastError?: { statusCode?: number } };
  const status = statusCode ?? lastError?.statusCode;
  return new SandboxError(
    'MODEL_FAILED',
    `The model did not answer: ${withoutSecrets(describe(error), secrets)}`,
    {
      hint:
        HINTS[status ?? 0] ??
        'Check the name of the model, the address and the network, and go on with --resume.',
      ...(status === undefined ? {} : { details: { status } }),
      cause: error,
    },
  );
}

const HINTS: Readonly<Record<number, string>> = {
  401: 'Check the key: the provider does not accept it.',
  403: 'Check the key: the provider does not accept it for this model.',
  404: 'Check the name of the model and the address.',
  429: 'The provider wants fewer requests: wait, and go on with --resume.',
};

function describe(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
