import { randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Session } from '../session.ts';
import { rpcError } from './rpcError.ts';

export interface SessionsOptions {
  /** A new agent, with no sandboxes. */
  readonly open: () => Session;
  readonly maxSessions: number;
  /** How long a session lasts in which nothing is asked and nothing goes on. */
  readonly idleSec: number;
  readonly maxBodyBytes: number;
  readonly onWarning: (message: string) => void;
  readonly clock?: () => number;
}

/** A client of before 2026, which asks for a session and can be asked in it. */
interface Connected {
  readonly session: Session;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAt: number;
}

/** How often it is looked for sessions that nobody uses, at least. */
const LOOK_SEC = 10;

/**
 * The sessions of all clients that know the token. Clients of before 2026 have one each; those of 2026 have none: they
 * share one, in which each can list and use what the others have made.
 */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #clock: () => number;
  readonly #connected = new Map<string, Connected>();
  readonly #ending = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  readonly #modern: { readonly session: Session; readonly handler: McpHttpHandler };
  #opening = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#timer = setInterval(() => this.endIdle(), Math.min(LOOK_SEC, options.idleSec) * 1000).unref();
    const session = options.open();
    const handler = createMcpHandler(() => session.server('modern'), {
      legacy: 'reject',
      maxRequestBodySize: options.maxBodyBytes,
      onerror: ({ message }) => options.onWarning(message),
    });
    this.#modern = { session, handler };
  }

  /** Sessions of clients of before 2026. */
  get count(): number {
    return this.#connected.size;
  }

  /** Answers one request of somebody who may ask. */
  async fetch(request: Request): Promise<Response> {
    const { maxBodyBytes } = this.#options;
    const id = request.headers.get('mcp-session-id');
    if (id !== null) return this.#fetchIn(id, request);
    if (!(await isLegacyRequest(request, undefined, { maxRequestBodySize: maxBodyBytes }))) {
      return this.#modern.handler.fetch(request);
    }
    if (request.method !== 'POST') return rpcError(400, 'A session is needed: send initialize first.');
    return this.#initialize(request);
  }

  /** Ends the sessions that nobody has used for too long. */
  endIdle(): void {
    const { idleSec } = this.#options;
    const now = this.#clock();
    for (const [id, connected] of this.#connected) {
      // A call that took longer than that does not end it: the client has yet to say what comes next.
      if (connected.session.isBusy) connected.usedAt = now;
      else if (now - connected.usedAt > idleSec * 1000) this.#end(id);
    }
  }

  /** Ends every session, with its sandboxes. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const id of this.#connected.keys()) this.#end(id);
    await this.#modern.session.close();
    await this.#modern.handler.close();
    await Promise.all(this.#ending);
  }

  async #fetchIn(id: string, request: Request): Promise<Response> {
    const connected = this.#connected.get(id);
    // By this the client learns that it has to begin anew.
    if (connected === undefined) return rpcError(404, 'There is no such session.');
    connected.usedAt = this.#clock();
    return connected.transport.handleRequest(request);
  }

  async #initialize(request: Request): Promise<Response> {
    const { open, maxSessions, maxBodyBytes, onWarning } = this.#options;
    if (this.#connected.size + this.#opening >= maxSessions) {
      return rpcError(429, `There are ${maxSessions} sessions, and more may not be.`, {
        'retry-after': '10',
      });
    }
    this.#opening++;
    try {
      const session = open();
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        maxRequestBodySize: maxBodyBytes,
        onsessioninitialized: (id) => {
          this.#connected.set(id, { session, transport, usedAt: this.#clock() });
        },
        onsessionclosed: (id) => this.#end(id),
      });
      const server = session.server('legacy');
      server.server.onerror = ({ message }) => onWarning(message);
      await server.connect(transport);
      const response = await transport.handleRequest(request);
      // It was something else than the beginning of a session.
      if (transport.sessionId === undefined) await session.close();
      return response;
    } finally {
      this.#opening--;
    }
  }

  #end(id: string): void {
    const connected = this.#connected.get(id);
    if (connected === undefined) return;
    this.#connected.delete(id);
    const { session, transport } = connected;
    const ended = session
      .close()
      .then(() => transport.close())
      .catch((error: unknown) => this.#options.onWarning(String(error)))
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}
