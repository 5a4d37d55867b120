/** `glovebox/agent`: the tools of a sandbox for the agents of others, and an agent of our own. */

export type { AgentEvent } from './event.ts';
export { aiSdkTools } from './exports/aiSdk.ts';
export { type AnthropicBlock, type AnthropicTool, anthropicTools } from './exports/anthropic.ts';
export { langchainTools } from './exports/langchain.ts';
export { type OpenAiChatTool, type OpenAiTool, openaiChatTools, openaiTools } from './exports/openai.ts';
export type { Tools, ToolsOptions } from './exports/toolset.ts';
export type { AgentLimits, Prices } from './limits.ts';
export type { Memory, RememberedCall, Usage } from './memory/memory.ts';
export { type Agent, type AgentOptions, openAgent } from './openAgent.ts';
export type { AgentEnd } from './runAgent.ts';
