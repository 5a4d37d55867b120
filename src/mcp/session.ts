import { randomBytes } from 'node:crypto';
import type { ClientCapabilities, ServerContext } from '@modelcontextprotocol/server';
import { CLIENT_CAPABILITIES_META_KEY, McpServer } from '@modelcontextprotocol/server';
import type { Tool } from '../operations/tools/tool.ts';
import type { Toolbox } from '../operations/tools/toolbox.ts';
import { packageVersion } from '../version.ts';
import type { ElicitationApprover } from './approval/elicitationApprover.ts';
import { type Asking, Calls } from './calls.ts';
import { registerPrompts } from './prompts.ts';
import { registerResources } from './resources.ts';
import { toldInput, toldOutput } from './toolSchemas.ts';
import { turns } from './turns.ts';

/** The tools of one agent, as this surface needs them. */
export type AgentTools = Pick<Toolbox, 'call' | 'sandboxes' | 'sandbox' | 'close'>;

export interface SessionOptions {
  readonly tools: readonly Tool[];
  readonly toolbox: AgentTools;
  readonly approver: ElicitationApprover;
  /** Where a person finds what waits for an answer, where there is such a place. */
  readonly consoleAddress: () => Promise<string | undefined>;
}

/** The revisions of the protocol differ in how a client is asked: `legacy` are those before 2026. */
export type Era = 'legacy' | 'modern';

/** How many files are in memory at a time, of whose reading a client may begin any number. */
const MAX_READING = 4;

/** One agent: its sandboxes, its calls, and any number of servers that speak for it. */
export class Session {
  readonly #options: SessionOptions;
  readonly #calls: Calls;
  readonly #inTurn = turns(MAX_READING);

  constructor(options: SessionOptions) {
    const { toolbox, approver, consoleAddress } = options;
    this.#options = options;
    this.#calls = new Calls({
      // Of each session its own: a yes to one is none to another.
      caller: `mcp-${randomBytes(4).toString('hex')}`,
      ...{ approver, consoleAddress },
      call: (...call) => toolbox.call(...call),
    });
  }

  /** A new server for one connection, or for one request. */
  server(era: Era): McpServer {
    const { tools, toolbox } = this.#options;
    const server = new McpServer(
      { name: 'glovebox', title: 'Glovebox', version: packageVersion() },
      {
        capabilities: {
          tools: { listChanged: false },
          resources: { listChanged: false },
          prompts: { listChanged: false },
        },
        instructions: INSTRUCTIONS,
      },
    );
    for (const tool of tools) {
      const { name, title, description, annotations } = tool;
      const told = { title, description, annotations };
      server.registerTool(
        name,
        { ...told, inputSchema: toldInput(tool), outputSchema: toldOutput(tool) },
        (input: unknown, context: ServerContext) =>
          this.#calls.handle(name, input, context, askingOf(server, context, era)),
      );
    }
    registerResources(server, toolbox, this.#inTurn);
    registerPrompts(server);
    return server;
  }

  /** Whether a call goes on. */
  get isBusy(): boolean {
    return this.#calls.running > 0;
  }

  /** Ends every call and every sandbox of its own; safe to call twice. */
  async close(): Promise<void> {
    this.#calls.close();
    await this.#options.toolbox.close();
  }
}

const INSTRUCTIONS = `Runs Python, JavaScript and shell in a sandbox. code_execute without sandbox_id is gone afterwards; with sandbox_id "new" it keeps the sandbox, whose files last from call to call. A person may be asked before something risky is done: where an answer says that it waits for approval, tell the user how to answer, and then make the same call again.`;

function askingOf({ server }: McpServer, { mcpReq }: ServerContext, era: Era): Asking {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const ofRequest = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  const { elicitation } = ofRequest ?? server.getClientCapabilities() ?? {};
  // Without a mode named, forms are meant.
  if (elicitation === undefined || (elicitation.form === undefined && elicitation.url !== undefined))
    return 'not at all';
  return era === 'modern' ? 'between two calls' : 'within the call';
}
