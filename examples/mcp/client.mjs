// A client of `glovebox mcp`: it calls tools in a kept sandbox, and asks its user before something risky is done.
// npm install @modelcontextprotocol/client, then: node examples/mcp/client.mjs
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const glovebox = fileURLToPath(new URL('dist/cli/main.js', import.meta.resolve('glovebox/package.json')));

const client = new Client({ name: 'example', version: '1.0.0' }, { capabilities: { elicitation: {} } });

// Here the user's window would be. This user reads the code, and lets nothing be removed.
client.setRequestHandler('elicitation/create', ({ params: { message } }) => {
  const decision = message.includes('rmtree') ? 'deny' : 'approve this once';
  return { action: 'accept', content: { decision } };
});

const env = { ...process.env, SANDBOX_GATE: 'strict' };
await client.connect(new StdioClientTransport({ command: process.execPath, args: [glovebox, 'mcp'], env }));

const call = (name, input) => client.callTool({ name, arguments: input });

const { structuredContent: file } = await call('code_write_file', {
  path: 'sales.csv',
  content: '3\n4\n5\n',
});
const { sandbox_id } = file;

await call('code_execute', { code: "sales = [int(row) for row in open('sales.csv')]", sandbox_id });
const sum = await call('code_execute', { code: 'print(sum(sales))', sandbox_id });
console.log(`approved: ${sum.structuredContent.stdout.trim()}`);

const removed = await call('code_execute', { code: "import shutil; shutil.rmtree('.')", sandbox_id });
console.log(`denied: ${removed.structuredContent.outcome}`);

const { structuredContent: listed } = await call('code_list_files', { sandbox_id });
console.log(`files: ${listed.files.map(({ name }) => name).join(', ')}`);

await call('code_destroy_sandbox', { sandbox_id });
await client.close();
