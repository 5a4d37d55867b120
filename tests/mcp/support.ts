/** The built `glovebox mcp`, and the official client of the protocol. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, beforeEach } from 'vitest';
import { ensureBuilt, MAIN } from '../e2e/support/build.ts';

export const TOKEN = 'a-token-of-the-tests-0123456789';

export interface ServerOptions {
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface ClientOptions {
  /** What the person at the client answers; without it the client cannot ask anybody. */
  readonly person?: (message: string) => unknown;
  /** `auto` speaks the revision of 2026 where the server does. */
  readonly mode?: 'legacy' | 'auto';
}

/** A server that listens. */
export interface HttpServer {
  readonly url: string;
  readonly process: ChildProcess;
  readonly stderr: () => string;
}

/** Surroundings of their own for each test, in which servers and clients are gone when it is over. */
export interface McpWorld {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Starts a server for one client. */
  overStdio(server?: ServerOptions, client?: ClientOptions): Promise<{ client: Client; pid: number }>;
  /** Starts a server for any number of clients. */
  listen(server?: ServerOptions): Promise<HttpServer>;
  connect(server: HttpServer, client?: ClientOptions): Promise<Client>;
  /** Starts a server with pipes. */
  start(server?: ServerOptions): Promise<ChildProcess>;
}

export function useMcp(): McpWorld {
  let folder = '';
  const open: (() => unknown)[] = [];
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'gbx-mcp-')));
  });
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
    rmSync(folder, { recursive: true, force: true });
  });

  const argumentsOf = ({ flags = [] }: ServerOptions): string[] => [MAIN, 'mcp', ...flags];
  const world: McpWorld = {
    get folder() {
      return folder;
    },
    get env() {
      return {
        ...{ PATH: process.env['PATH'] ?? '', HOME: folder, TMPDIR: folder },
        ...{ XDG_STATE_HOME: join(folder, 'state'), XDG_CONFIG_HOME: join(folder, 'config') },
        ...{ XDG_CACHE_HOME: join(folder, 'cache'), SANDBOX_AUDIT_DIR: join(folder, 'audit') },
        ...{ SANDBOX_TYPE: 'bubblewrap', SANDBOX_PYTHON: '/usr/bin/python3', SANDBOX_STORE_CODE: 'never' },
      };
    },
    async overStdio(server = {}, options = {}) {
      await ensureBuilt();
      const transport = new StdioClientTransport({
        ...{ command: process.execPath, args: argumentsOf(server), cwd: folder },
        ...{ env: { ...world.env, ...server.env }, stderr: 'ignore' },
      });
      const client = clientOf(options);
      await client.connect(transport);
      open.push(() => client.close());
      return { client, pid: transport.pid ?? 0 };
    },
    async start(server = {}) {
      await ensureBuilt();
      const child = spawn(process.execPath, argumentsOf(server), {
        ...{ cwd: folder, env: { ...world.env, ...server.env }, stdio: 'pipe' },
      });
      open.push(() => ended(child));
      return child;
    },
    async listen({ flags = [], env = {} } = {}) {
      const child = await world.start({
        flags: ['--http', '--port', '0', ...flags],
        env: { GLOVEBOX_MCP_TOKEN: TOKEN, ...env },
      });
      let stderr = '';
      const url = await new Promise<string>((resolve, reject) => {
        child.stderr?.on('data', (chunk) => {
          stderr += String(chunk);
          const [, address] = /spoken at (http:\S+)\n/.exec(stderr) ?? [];
          if (address !== undefined) resolve(address);
        });
        child.once('exit', () => reject(new Error(`It has ended: ${stderr}`)));
      });
      return { url, process: child, stderr: () => stderr };
    },
    async connect({ url }, options = {}) {
      const client = clientOf(options);
      const transport = new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { authorization: `Bearer ${TOKEN}` } },
      });
      await client.connect(transport);
      open.push(() => client.close());
      return client;
    },
  };
  return world;
}

function clientOf({ person, mode = 'legacy' }: ClientOptions): Client {
  const capabilities = person === undefined ? {} : { elicitation: {} };
  const client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode } });
  if (person !== undefined) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      return (await person(params.message)) as { action: 'accept' };
    });
  }
  return client;
}

/** Ends a server and waits for it. */
export function ended(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => {
    child.once('exit', resolve);
    child.kill(signal);
  });
}

export interface Answer {
  readonly text: string;
  readonly structured: Record<string, unknown>;
  readonly isError: boolean | undefined;
  readonly content: CallToolResult['content'];
}

/** Calls a tool, and takes its answer apart. */
export async function call(client: Client, name: string, input: Record<string, unknown>): Promise<Answer> {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: input });
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  return { text, structured: structuredContent as Record<string, unknown>, isError, content };
}

/** A file of settings. */
export function settingsFile(folder: string, sandbox: Record<string, unknown>): string {
  const path = join(folder, 'settings.yaml');
  writeFileSync(path, JSON.stringify({ security: { sandbox } }));
  return path;
}
