/** The small MCP server on standard input and output. */
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { testTools } from './testTools.ts';

await testTools().connect(new StdioServerTransport());
