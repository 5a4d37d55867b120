import { once } from 'node:events';
import { SandboxError } from '../errors.ts';
import type { Context } from '../operations/context.ts';
import { cut, failed } from '../operations/tools/answers.ts';
import { callTool } from '../operations/tools/callTool.ts';
import type { ToolAnswer } from '../operations/tools/tool.ts';
import { type AgentTool, type ObjectSchema, TOOL_NAME } from './agentTool.ts';
import { isTooDeep } from './depth.ts';
import { shorten } from './shorten.ts';

/** A tool that somebody else wrote, and that runs outside of any sandbox. */
export interface ForeignTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: ObjectSchema;
  /** Who supplies it, for a person. */
  readonly from: string;
  /** What must not stand in the record. */
  readonly secrets?: readonly string[];
  /** Throws `INPUT_INVALID`, before anybody is asked, for what it cannot be called with. */
  check?(input: Readonly<Record<string, unknown>>): void;
  run(input: Readonly<Record<string, unknown>>, signal: AbortSignal | undefined): Promise<ForeignResult>;
}

export interface ForeignResult {
  readonly text: string;
  readonly structured?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

const MAX_TEXT_BYTES = 16 * 1024;
const MAX_DESCRIPTION_CHARACTERS = 2000;

/** The tool as a model is told of it: its calls pass the gate, and what it says is bounded. */
export function foreignTool(context: Context, tool: ForeignTool): AgentTool {
  const { name, parameters, from, secrets = [] } = tool;
  return {
    ...{ name, parameters, description: shorten(tool.description, MAX_DESCRIPTION_CHARACTERS) },
    async call(given, { signal } = {}) {
      try {
        const input = inputOf(tool, given);
        const call = { tool: name, from, input, secrets, signal };
        const run = () => unlessAborted(() => tool.run(input, signal), signal);
        return bounded(answerOf(await callTool(context, call, run)));
      } catch (error) {
        return bounded(failed(error));
      }
    },
  };
}

/** Throws `CONFIG_INVALID` for a name that no provider takes, and for one that stands there twice. */
export function assertDistinct(tools: readonly AgentTool[]): void {
  const seen = new Set<string>();
  for (const { name } of tools) {
    if (!TOOL_NAME.test(name))
      throw unusableName(name, 'has characters that no model takes, or more than 64 of them');
    if (seen.has(name)) throw unusableName(name, 'stands there twice');
    seen.add(name);
  }
}

function inputOf({ name, check = () => {} }: ForeignTool, given: unknown): Readonly<Record<string, unknown>> {
  const input = given ?? {};
  if (typeof input !== 'object' || Array.isArray(input)) {
    throw new SandboxError('INPUT_INVALID', `The tool ${name} takes an object.`, {
      hint: 'Give what its parameters say.',
    });
  }
  const named = input as Readonly<Record<string, unknown>>;
  check(named);
  return named;
}

function answerOf({ text, structured = {}, isError = false }: ForeignResult): ToolAnswer {
  return { text: text || '(no output)', structured, pictures: [], isError };
}

/** As much of it as a model can be told, also where it failed. */
function bounded({ text, structured, ...rest }: ToolAnswer): ToolAnswer {
  return {
    ...rest,
    text: cut(text, MAX_TEXT_BYTES),
    structured: isTooDeep(structured) ? { output: '(nested too deeply)' } : structured,
  };
}

/** Nobody waits any longer for what does not listen to the signal. */
async function unlessAborted<T>(action: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return action();
  signal.throwIfAborted();
  const over = new AbortController();
  const aborted = once(signal, 'abort', { signal: over.signal }).then(() => {
    throw signal.reason;
  });
  try {
    return await Promise.race([action(), aborted]);
  } finally {
    over.abort();
  }
}

function unusableName(name: string, why: string): SandboxError {
  return new SandboxError('CONFIG_INVALID', `The tool ${JSON.stringify(name)} ${why}.`, {
    hint: 'Give it another name, of letters, digits, _ and -.',
    details: { tool: name },
  });
}
