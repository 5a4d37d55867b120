import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** A small MCP server, however it is reached. */
export function testTools(): McpServer {
  const server = new McpServer({ name: 'test', version: '1.0.0' });
  const echo = { description: 'Says it again.', inputSchema: z.object({ text: z.string() }) };
  server.registerTool('echo', echo, (input) => text(input.text));
  server.registerTool('flood', { description: 'Says much.' }, () => text('x'.repeat(1_000_000)));
  server.registerTool('fail', { description: 'Fails.' }, () => ({ ...text('It failed.'), isError: true }));
  const environment = { description: 'Tells its token.', inputSchema: z.object({ about: z.string() }) };
  server.registerTool('environment', environment, () => text(process.env['SERVER_TOKEN'] ?? ''));
  return server;
}

function text(said: string) {
  return { content: [{ type: 'text' as const, text: said }] };
}
