import type { ToolAnswer, ToolPicture } from '../../operations/tools/tool.ts';
import { openTools, type Tools, type ToolsOptions } from './toolset.ts';

/** A tool as the Messages API of Anthropic takes it. */
export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: { type: 'object'; [key: string]: unknown };
}

/** What stands in the `content` of a `tool_result`. */
export type AnthropicBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; source: { type: 'base64'; media_type: ToolPicture['mimeType']; data: string } };

/** The tools for Anthropic's Messages API; `handleToolCall` answers with the `content` of a `tool_result`, charts included. */
export function anthropicTools(
  options: ToolsOptions = {},
): Promise<Tools<AnthropicTool[], AnthropicBlock[]>> {
  return openTools(
    options,
    (tools) =>
      tools.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: { ...parameters },
      })),
    blocksOf,
  );
}

function blocksOf({ text, pictures }: ToolAnswer): AnthropicBlock[] {
  return [
    { type: 'text', text },
    ...pictures.map(({ mimeType, data }) => ({
      type: 'image' as const,
      source: { type: 'base64' as const, media_type: mimeType, data },
    })),
  ];
}
