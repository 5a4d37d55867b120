/** What an agent keeps of a task: the conversation, and what was run. */
import type { ModelMessage } from 'ai';
import { MAX_DEPTH } from '../depth.ts';
import { shorten } from '../shorten.ts';

/** One call of a tool; times are ISO 8601. */
export interface RememberedCall {
  readonly at: string;
  readonly tool: string;
  /** What was run, where the tool runs code. */
  readonly code: string | null;
  readonly language: string | null;
  /** All else that was given. */
  readonly input: unknown;
  readonly is_error: boolean;
  /** The result with its `meta`, or `{ error }`; long texts are shortened in the middle. */
  readonly result: unknown;
}

export interface Usage {
  /** Questions to the model. */
  readonly steps: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Where somebody told the prices. */
  readonly cost_usd?: number;
}

/** As it stands in the file. */
export interface Memory {
  readonly version: 1;
  /** The first one; further ones are in the conversation. */
  readonly task: string;
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  /** The last ones. */
  readonly executions: readonly RememberedCall[];
  /** Of all runs together. */
  readonly usage: Usage;
}

/** The calls that are kept. */
const MAX_CALLS = 200;
const MAX_CODE_CHARACTERS = 100_000;

export function newMemory(task: string, model: string): Memory {
  return {
    ...{ version: 1, task, model, messages: [{ role: 'user', content: task }], executions: [] },
    usage: { steps: 0, input_tokens: 0, output_tokens: 0 },
  };
}

/** The memory with one more call. Pure. */
export function withCall(
  memory: Memory,
  { at, tool, input, is_error, result }: Omit<RememberedCall, 'code' | 'language'>,
): Memory {
  const { code, ...rest } =
    typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  const language = rest['language'];
  const call: RememberedCall = {
    ...{ at, tool },
    code: typeof code === 'string' ? shorten(code, MAX_CODE_CHARACTERS) : null,
    language: typeof language === 'string' ? language : null,
    input: bounded(rest),
    is_error,
    result: bounded(result),
  };
  return { ...memory, executions: [...memory.executions, call].slice(-MAX_CALLS) };
}

const MAX_TEXT_CHARACTERS = 8192;
const MAX_ELEMENTS = 200;

/** A JSON value with its long texts shortened, its long lists cut, and what is nested too deeply left out. */
function bounded(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return shorten(value, MAX_TEXT_CHARACTERS);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return '(nested too deeply)';
  if (Array.isArray(value)) return value.slice(0, MAX_ELEMENTS).map((inner) => bounded(inner, depth + 1));
  const entries = Object.entries(value).slice(0, MAX_ELEMENTS);
  return Object.fromEntries(entries.map(([key, inner]) => [key, bounded(inner, depth + 1)]));
}
