/** The Engine API over plain HTTP, as Docker and Podman speak it. */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Endpoint } from './endpoint.ts';

/** An answer of the engine that is a refusal; its message is the engine's own. */
export class EngineError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'EngineError';
    this.status = status;
  }
}

/** How long the engine may take for an ordinary answer; a container that starts on a loaded host takes seconds. */
const ANSWER_DEADLINE_MS = 60_000;

export interface CallOptions {
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Milliseconds without any byte of an answer; 0 waits for as long as it takes. */
  readonly deadlineMs?: number;
  /** Told of the connection, which need not be a reason for this process to go on. */
  readonly onSocket?: (socket: Socket) => void;
}

/** A connection that has become a two-way stream of bytes, and what came along with the answer. */
export interface Hijacked {
  readonly socket: Socket;
  readonly head: Buffer;
}

export class Engine {
  readonly endpoint: Endpoint;
  #prefix = '';

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
  }

  /** From here on every call names this version of the API. */
  useVersion(version: string): void {
    this.#prefix = `/v${version}`;
  }

  /**
   * One call; resolves to the parsed answer, or to undefined where there is none. Rejects with
   * {@link EngineError}, or with the system's error when nobody answers.
   */
  async call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
    const response = await this.#send(method, path, options);
    const answer = await text(response);
    if ((response.statusCode ?? 500) >= 400) throw refusal(response, answer);
    return (answer === '' ? undefined : JSON.parse(answer)) as T;
  }

  /** The same for an answer that comes bit by bit. */
  async stream(
    method: string,
    path: string,
    options: CallOptions & { readonly upload?: AsyncIterable<Uint8Array> } = {},
  ): Promise<IncomingMessage> {
    const response = await this.#send(method, path, options);
    if ((response.statusCode ?? 500) >= 400) throw refusal(response, await text(response));
    return response;
  }

  /** Turns the connection of a call into a stream: the program's input one way, its output the other. */
  hijack(path: string, body: unknown = undefined): Promise<Hijacked> {
    return new Promise((resolve, reject) => {
      const payload = body === undefined ? '' : JSON.stringify(body);
      const request = this.#open({
        method: 'POST',
        path: this.#prefix + path,
        headers: { ...headersFor(payload), connection: 'Upgrade', upgrade: 'tcp' },
      });
      request.setTimeout(ANSWER_DEADLINE_MS, () =>
        request.destroy(lateAnswer('POST', path, ANSWER_DEADLINE_MS)),
      );
      request.on('upgrade', (_, socket, head) => {
        // From here on it may be silent for as long as it likes.
        socket.setTimeout(0);
        resolve({ socket: socket as Socket, head });
      });
      request.on('response', (response) => {
        text(response).then((answer) => reject(refusal(response, answer)), reject);
      });
      request.on('error', reject);
      request.end(payload);
    });
  }

  #send(
    method: string,
    path: string,
    {
      body,
      signal,
      deadlineMs = ANSWER_DEADLINE_MS,
      onSocket,
      upload,
    }: CallOptions & { readonly upload?: AsyncIterable<Uint8Array> },
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const payload = body === undefined ? '' : JSON.stringify(body);
      const request = this.#open({
        method,
        path: this.#prefix + path,
        headers: upload === undefined ? headersFor(payload) : { 'content-type': 'application/x-tar' },
        ...(signal === undefined ? {} : { signal }),
      });
      request.setTimeout(deadlineMs, () => request.destroy(lateAnswer(method, path, deadlineMs)));
      request.on('response', resolve);
      request.on('error', reject);
      if (onSocket !== undefined) request.on('socket', onSocket);
      if (upload === undefined) request.end(payload);
      // An engine may answer before it has read all of it; what went wrong then is in its answer.
      else pipeline(Readable.from(upload), request, (error) => error && reject(error));
    });
  }

  /** One connection a call: none is left open behind the caller's back, and on a local socket it costs nothing. */
  #open(options: RequestOptions): ReturnType<typeof httpRequest> {
    const { endpoint } = this;
    if ('socketPath' in endpoint) {
      return httpRequest({ ...options, socketPath: endpoint.socketPath, host: 'localhost', agent: false });
    }
    const { host, port, tls } = endpoint;
    return tls === undefined
      ? httpRequest({ ...options, host, port, agent: false })
      : httpsRequest({ ...options, ...tls, host, port, agent: false });
  }
}

function lateAnswer(method: string, path: string, deadlineMs: number): Error {
  const late = new Error(`The engine did not answer ${method} ${path} within ${deadlineMs / 1000} s.`);
  return Object.assign(late, { code: 'ETIMEDOUT' });
}

function headersFor(payload: string): Record<string, string | number> {
  return payload === ''
    ? { 'content-length': 0 }
    : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) };
}

function refusal({ statusCode = 500 }: IncomingMessage, answer: string): EngineError {
  let message = answer.trim();
  try {
    const parsed = JSON.parse(answer) as { message?: unknown; cause?: unknown };
    message = String(parsed.message ?? parsed.cause ?? message);
  } catch {
    // A proxy in between answers in its own words.
  }
  return new EngineError(statusCode, message.slice(0, 2000));
}

/** True for the engine's answer that there is no such thing. */
export function isNotFound(error: unknown): boolean {
  return error instanceof EngineError && error.status === 404;
}
