import type { Client, Tool } from '@modelcontextprotocol/client';
import { isSandboxError, SandboxError } from '../../errors.ts';
import { withoutSecrets } from '../../operations/oversight/recordable.ts';
import { packageVersion } from '../../version.ts';
import { optionalPackage } from '../model/optionalPackage.ts';
import { shorten } from '../shorten.ts';
import { type ServerConfig, secretsOf } from './serverConfig.ts';

export interface ConnectedServer {
  readonly name: string;
  readonly client: Client;
  readonly config: ServerConfig;
  readonly tools: readonly Tool[];
}

const START_TIMEOUT_MS = 30_000;
const MAX_TOOLS = 100;
/** All of it is told to the model, in each step. */
const MAX_TOLD_CHARACTERS = 256 * 1024;

/** Starts a server, or reaches it, and asks for its tools. Throws `CONFIG_INVALID` with what it said where that fails. */
export async function connectServer(name: string, config: ServerConfig): Promise<ConnectedServer> {
  const { Client: McpClient } = await sdk(() => import('@modelcontextprotocol/client'));
  const client = new McpClient({ name: 'glovebox', version: packageVersion() });
  const said: string[] = [];
  try {
    await client.connect(await transportTo(config, said), { timeout: START_TIMEOUT_MS });
    const { tools } = await client.listTools(undefined, { timeout: START_TIMEOUT_MS });
    if (tools.length > MAX_TOOLS) throw new Error(`it has ${tools.length} tools, more than ${MAX_TOOLS}`);
    const characters = JSON.stringify(tools).length;
    if (characters > MAX_TOLD_CHARACTERS)
      throw new Error(`it tells of its tools in ${characters} characters, more than ${MAX_TOLD_CHARACTERS}`);
    return { name, client, config, tools };
  } catch (error) {
    await client.close();
    throw isSandboxError(error) ? error : didNotStart(name, config, error, said.join(''));
  }
}

async function transportTo(config: ServerConfig, said: string[]) {
  if ('command' in config) {
    const { StdioClientTransport } = await sdk(() => import('@modelcontextprotocol/client/stdio'));
    const { command, args, env, cwd } = config;
    const transport = new StdioClientTransport({
      ...{ command, args, env, stderr: 'pipe' },
      ...(cwd === undefined ? {} : { cwd }),
    });
    transport.stderr?.on('data', (chunk: Buffer) => {
      // The first words say why it does not start; the rest only has to be taken from it.
      if (said.length < MAX_SAID_CHUNKS) said.push(chunk.toString('utf8'));
    });
    return transport;
  }
  const { StreamableHTTPClientTransport } = await sdk(() => import('@modelcontextprotocol/client'));
  return new StreamableHTTPClientTransport(new URL(config.url), { requestInit: { headers: config.headers } });
}

const MAX_SAID_CHUNKS = 20;

function sdk<Module>(load: () => Promise<Module>): Promise<Module> {
  return optionalPackage('@modelcontextprotocol/client', 'to call tools of MCP servers', load);
}

function didNotStart(name: string, config: ServerConfig, error: unknown, said: string): SandboxError {
  const told = said.trim() === '' ? '' : ` It said: ${shorten(said.trim(), 500)}`;
  const message = `The MCP server "${name}" does not answer: ${(error as Error).message}${told}`;
  return new SandboxError('CONFIG_INVALID', withoutSecrets(message, secretsOf(config)), {
    hint: 'command' in config ? 'Try its command at a terminal.' : 'Check its address and its headers.',
    details: { server: name },
    cause: error,
  });
}
