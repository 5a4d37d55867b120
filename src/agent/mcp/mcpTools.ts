import type { CallToolResult, Client, Tool } from '@modelcontextprotocol/client';
import type { ObjectSchema } from '../agentTool.ts';
import type { ForeignResult, ForeignTool } from '../foreignTool.ts';
import { type ConnectedServer, connectServer } from './connectServer.ts';
import { type ServerConfig, secretsOf } from './serverConfig.ts';

export interface McpTools extends AsyncDisposable {
  readonly tools: readonly ForeignTool[];
}

const CALL_TIMEOUT_MS = 10 * 60 * 1000;

/** Connects to all servers, and calls their tools `server__tool`. Throws `CONFIG_INVALID` where one does not start. */
export async function mcpTools(servers: Readonly<Record<string, ServerConfig>>): Promise<McpTools> {
  const entries = Object.entries(servers);
  const settled = await Promise.allSettled(entries.map(([name, config]) => connectServer(name, config)));
  const connected = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const close = async (): Promise<void> => {
    await Promise.allSettled(connected.map(({ client }) => client.close()));
  };
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed !== undefined) {
    await close();
    throw failed.reason;
  }
  return { tools: connected.flatMap(toolsOf), [Symbol.asyncDispose]: close };
}

function toolsOf({ name: server, client, config, tools }: ConnectedServer): readonly ForeignTool[] {
  return tools.map((tool) => ({
    name: nameOf(server, tool),
    description: tool.description ?? tool.title ?? `The tool ${tool.name} of ${server}.`,
    parameters: tool.inputSchema as ObjectSchema,
    from: `the MCP server ${server}`,
    secrets: secretsOf(config),
    run: (input, signal) => call(client, tool.name, input, signal),
  }));
}

/** Of characters that every provider takes. */
function nameOf(server: string, { name }: Tool): string {
  return `${server}__${name}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64);
}

async function call(
  client: Client,
  name: string,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal | undefined,
): Promise<ForeignResult> {
  const options = { timeout: CALL_TIMEOUT_MS, ...(signal === undefined ? {} : { signal }) };
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: input }, options);
  const text = content.map(textOf).join('\n');
  return {
    text: text === '' && structuredContent !== undefined ? JSON.stringify(structuredContent) : text,
    structured: (structuredContent as Readonly<Record<string, unknown>>) ?? { output: text },
    ...(isError === undefined ? {} : { isError }),
  };
}

function textOf(block: CallToolResult['content'][number]): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'resource':
      return 'text' in block.resource ? block.resource.text : `(${block.resource.uri}, not shown)`;
    case 'resource_link':
      return `(${block.name}: ${block.uri})`;
    default:
      return `(${block.type}, ${block.mimeType}, not shown)`;
  }
}
