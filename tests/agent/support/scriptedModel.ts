import type { ModelMessage } from 'ai';
import { convertArrayToReadableStream, MockLanguageModelV3 } from 'ai/test';

type Streamed = Awaited<ReturnType<MockLanguageModelV3['doStream']>>;
type StreamPart = Streamed['stream'] extends ReadableStream<infer Part> ? Part : never;

/** What the model says once. */
export interface Line {
  readonly says?: string;
  readonly calls?: readonly { readonly tool: string; readonly input: unknown }[];
  /** Tokens; `null`: it does not say. */
  readonly used?: { readonly input: number; readonly output: number } | null;
}

/** One thing that a conversation holds, as a test reads it. */
export interface Told {
  readonly role: string;
  readonly text: string;
}

export interface ScriptedModel {
  readonly model: MockLanguageModelV3;
  /** What the model was told by the tools, one list for each time that it was asked. */
  readonly asked: readonly (readonly Told[])[];
}

/** A model that says one line after the other; a line may depend on what the model is told. */
export function scriptedModel(lines: readonly (Line | ((told: readonly Told[]) => Line))[]): ScriptedModel {
  const asked: (readonly Told[])[] = [];
  const model = new MockLanguageModelV3({
    doStream: async ({ prompt }) => {
      const told = (prompt as readonly ModelMessage[]).flatMap(toldBy);
      const line = lines[asked.push(told) - 1];
      if (line === undefined) throw new Error('The script is over.');
      return streamOf(typeof line === 'function' ? line(told) : line, asked.length);
    },
  });
  return { model, asked };
}

/** The id of the sandbox that the last answer named. */
export function keptSandbox(told: readonly Told[]): string {
  return /sandbox_id: ([\w-]+)/.exec(told.map(({ text }) => text).join('\n'))?.[1] ?? 'none';
}

function streamOf({ says, calls = [], used = { input: 100, output: 10 } }: Line, turn: number): Streamed {
  const text = says === undefined ? [] : textParts(says);
  const parts = [
    { type: 'stream-start', warnings: [] },
    ...text,
    ...calls.map(({ tool, input }, i) => ({
      type: 'tool-call',
      toolCallId: `call-${turn}-${i}`,
      toolName: tool,
      input: typeof input === 'string' ? input : JSON.stringify(input),
    })),
    {
      type: 'finish',
      finishReason: { unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: undefined },
      usage: { inputTokens: { total: used?.input }, outputTokens: { total: used?.output } },
    },
  ];
  return { stream: convertArrayToReadableStream(parts as unknown as StreamPart[]) };
}

function textParts(delta: string) {
  return [
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta },
    { type: 'text-end', id: 't' },
  ];
}

function toldBy({ role, content }: ModelMessage): readonly Told[] {
  if (typeof content === 'string') return [{ role, text: content }];
  return content.flatMap((part) => {
    if (part.type === 'text') return [{ role, text: part.text }];
    if (part.type !== 'tool-result') return [];
    const { output } = part;
    return [{ role, text: 'value' in output ? String(output.value) : output.type }];
  });
}
