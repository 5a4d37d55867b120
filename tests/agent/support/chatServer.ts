/** A server as Ollama and many others are one: chat completions, streamed. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export interface ChatRequest {
  readonly authorization: string | undefined;
  readonly body: {
    readonly model: string;
    readonly stream: boolean;
    readonly messages: readonly { readonly role: string; readonly content: string | null }[];
    readonly tools: readonly { readonly function: { readonly name: string } }[];
  };
}

/** What it answers: text in pieces, a call of a tool, or a refusal. */
export type ChatAnswer =
  | { readonly says: readonly string[] }
  | { readonly tool: string; readonly input: unknown }
  | { readonly status: number; readonly message: string };

export interface ChatServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly ChatRequest[];
}

/** Gives one answer after the other. */
export async function chatServer(
  answers: readonly (ChatAnswer | ((request: ChatRequest) => ChatAnswer))[],
): Promise<ChatServer> {
  const requests: ChatRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const request = await requestOf(incoming);
    const next = answers[requests.push(request) - 1] ?? { status: 400, message: 'The script is over.' };
    answer(response, typeof next === 'function' ? next(request) : next);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function requestOf(incoming: IncomingMessage): Promise<ChatRequest> {
  const body = (await json(incoming)) as ChatRequest['body'];
  return { authorization: incoming.headers.authorization, body };
}

function answer(response: ServerResponse, given: ChatAnswer): void {
  if ('status' in given) {
    response.writeHead(given.status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ error: { message: given.message, type: 'error', code: null } }));
    return;
  }
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const delta of deltasOf(given)) response.write(event({ choices: [{ index: 0, delta }] }));
  const finish_reason = 'says' in given ? 'stop' : 'tool_calls';
  response.write(event({ choices: [{ index: 0, delta: {}, finish_reason }] }));
  response.write(
    event({ choices: [], usage: { prompt_tokens: 50, completion_tokens: 5, total_tokens: 55 } }),
  );
  response.end('data: [DONE]\n\n');
}

/** The arguments of a call come in two pieces, as they do from a model. */
function deltasOf(given: Exclude<ChatAnswer, { status: number }>): readonly object[] {
  if ('says' in given) return given.says.map((content) => ({ role: 'assistant', content }));
  const text = JSON.stringify(given.input);
  const half = Math.floor(text.length / 2);
  const call = { index: 0, id: 'call_1', type: 'function' };
  return [
    { tool_calls: [{ ...call, function: { name: given.tool, arguments: text.slice(0, half) } }] },
    { tool_calls: [{ index: 0, function: { arguments: text.slice(half) } }] },
  ];
}

function event(data: object): string {
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', ...data })}\n\n`;
}
