import type { AgentTool, ObjectSchema } from '../agentTool.ts';
import { openTools, type Tools, type ToolsOptions } from './toolset.ts';

/** A function as the Responses API of OpenAI takes it. */
export interface OpenAiTool {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  readonly parameters: Record<string, unknown>;
  readonly strict: false;
}

/** A function as the Chat Completions API takes it, which is also that of most other servers. */
export interface OpenAiChatTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Record<string, unknown>;
  };
}

/** The tools for OpenAI's Responses API; `handleToolCall` answers with the `output` of a `function_call_output`. */
export function openaiTools(options: ToolsOptions = {}): Promise<Tools<OpenAiTool[], string>> {
  return openTools(options, (tools) => tools.map(responsesTool), textOf);
}

/** The tools for Chat Completions; `handleToolCall` answers with the `content` of a message of the role `tool`. */
export function openaiChatTools(options: ToolsOptions = {}): Promise<Tools<OpenAiChatTool[], string>> {
  return openTools(options, (tools) => tools.map(chatTool), textOf);
}

function responsesTool({ name, description, parameters }: AgentTool): OpenAiTool {
  // Strict schemas have no optional members.
  return { type: 'function', name, description, parameters: copyOf(parameters), strict: false };
}

function chatTool({ name, description, parameters }: AgentTool): OpenAiChatTool {
  return { type: 'function', function: { name, description, parameters: copyOf(parameters) } };
}

function copyOf(schema: ObjectSchema): Record<string, unknown> {
  return { ...schema };
}

function textOf({ text }: { readonly text: string }): string {
  return text;
}
