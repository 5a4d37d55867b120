/** A small MCP server on standard input and output. */
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const server = new McpServer({ name: 'test', version: '1.0.0' });
const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

server.registerTool(
  'echo',
  { description: 'Says it again.', inputSchema: z.object({ text: z.string() }) },
  (input) => text(input.text),
);
server.registerTool('flood', { description: 'Says much.' }, () => text('x'.repeat(1_000_000)));
server.registerTool('fail', { description: 'Fails.' }, () => ({ ...text('It failed.'), isError: true }));
server.registerTool(
  'environment',
  { description: 'Tells its token.', inputSchema: z.object({ about: z.string() }) },
  () => text(process.env['SERVER_TOKEN'] ?? ''),
);
await server.connect(new StdioServerTransport());
