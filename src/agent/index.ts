/** `glovebox/agent`: the tools of a sandbox in the forms that frameworks for agents take. */

export type { ToolAnswer, ToolCallOptions, ToolPicture } from '../operations/tools/tool.ts';
export { aiSdkTools } from './exports/aiSdk.ts';
export { type AnthropicBlock, type AnthropicTool, anthropicTools } from './exports/anthropic.ts';
export { langchainTools } from './exports/langchain.ts';
export { type OpenAiChatTool, type OpenAiTool, openaiChatTools, openaiTools } from './exports/openai.ts';
export type { Tools, ToolsOptions } from './exports/toolset.ts';
