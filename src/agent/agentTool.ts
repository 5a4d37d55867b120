import type { ToolAnswer, ToolCallOptions } from '../operations/tools/tool.ts';

/** A JSON Schema of an object. */
export type ObjectSchema = Readonly<Record<string, unknown>> & { readonly type: 'object' };

/** One tool as a model is told of it, wherever it comes from. */
export interface AgentTool {
  /** Letters, digits, `_` and `-`; at most 64 of them. */
  readonly name: string;
  readonly description: string;
  readonly parameters: ObjectSchema;
  /** Never rejects. */
  call(input: unknown, options?: ToolCallOptions): Promise<ToolAnswer>;
}

/** What every provider takes for the name of a tool. */
export const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
