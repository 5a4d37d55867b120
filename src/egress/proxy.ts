import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { EgressRules } from '../policy/policy.ts';
import { answer, answerBare } from './answer.ts';
import { Client } from './client.ts';
import type { DecisionListeners, NetworkDecision, Passing } from './decision.ts';
import { DecisionLog, type Entry, type Subject } from './decisionLog.ts';
import { dial } from './dial.ts';
import { forward } from './forward.ts';
import type { Authority } from './host.ts';
import { DEFAULT_LIMITS, type ProxyLimits } from './limits.ts';
import { type CompiledRules, compileRules, judge, NOBODY } from './match.ts';
import type { Recording } from './recording.ts';
import { quoted, Refusal } from './refusal.ts';
import { type PlainRequest, readConnect, readPlainRequest } from './request.ts';
import { askNameServers, type Resolve } from './resolve.ts';
import { tunnel } from './tunnel.ts';

/** A tunnel to it is opened and read as plain HTTP, each request by itself: some clients use one for that, too. */
const HTTP_PORT = 80;

const LONGEST_HEADERS = 16 * 1024;

export interface EgressProxyOptions extends DecisionListeners {
  readonly rules: EgressRules;
  /** In place of the name servers of this host. */
  readonly resolve?: Resolve;
  readonly limits?: Partial<ProxyLimits>;
}

/**
 * The one way out of one sandbox: an HTTP proxy that reaches the allowed domains and nobody else. Whatever is accepted
 * is that sandbox's; nothing that is said on a connection tells who it is.
 */
export class EgressProxy {
  readonly #server: Server;
  readonly #clients = new Map<Duplex, Client>();
  /** All that is open on either side. */
  readonly #open = new Set<Duplex>();
  readonly #log: DecisionLog;
  readonly #onPassing: DecisionListeners['onPassing'];
  readonly #resolve: Resolve;
  readonly #limits: ProxyLimits;
  #rules: CompiledRules;
  #closed = false;

  /** Throws `INPUT_INVALID` for rules that are not usable. */
  constructor({ rules, onPassing, onDecision, resolve = askNameServers, limits }: EgressProxyOptions) {
    this.#rules = compileRules(rules);
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#resolve = resolve;
    this.#onPassing = onPassing;
    this.#log = new DecisionLog(this.#limits.decisions, onDecision);
    this.#server = this.#createServer();
  }

  /** What was decided so far, the first ones up to a number, and how many more there were. */
  get decisions(): { readonly list: readonly NetworkDecision[]; readonly dropped: number } {
    return { list: this.#log.list(), dropped: this.#log.dropped };
  }

  /** Notes what is decided from now on. */
  record(): Recording {
    return this.#log.record();
  }

  /** Takes over a connection from inside. */
  accept(stream: Duplex): void {
    // A close follows an error, and tells all that there is to know.
    stream.on('error', () => {});
    if (this.#closed || stream.destroyed) {
      stream.destroy();
      return;
    }
    this.#hold(stream);
    if (this.#clients.size >= this.#limits.connections) {
      this.#refuseOneMore(stream);
      return;
    }
    this.#clients.set(stream, new Client(stream, this.#limits));
    stream.once('close', () => this.#clients.delete(stream));
    this.#server.emit('connection', stream);
  }

  /** From now on these rules hold for requests; what is open stays. Rules that are not usable let nobody pass, and throw. */
  setRules(rules: EgressRules): void {
    this.#rules = NOBODY;
    this.#rules = compileRules(rules);
  }

  /** Ends every connection and takes no more; resolves when all are gone. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(
      [...this.#open].map((stream) => {
        const gone = new Promise((resolve) => stream.once('close', resolve));
        stream.destroy();
        return gone;
      }),
    );
  }

  #createServer(): Server {
    // It never listens: connections are handed to it. Its own timeouts need it to, so those of `Client` hold.
    const server = createServer({
      maxHeaderSize: LONGEST_HEADERS,
      insecureHTTPParser: false,
      // Said in our own words, and logged.
      requireHostHeader: false,
      keepAliveTimeout: 0,
    });
    // Headers beyond a number would be parsed and not shown.
    server.maxHeadersCount = 0;
    const onRequest = (request: IncomingMessage, response: ServerResponse, mayContinue: boolean): void => {
      const client = this.#clients.get(request.socket);
      client?.enqueue(() => this.#serveRequest(client, request, response, mayContinue));
    };
    server.on('request', (request, response) => onRequest(request, response, false));
    server.on('checkContinue', (request, response) => onRequest(request, response, true));
    server.on('connect', (request, stream, head) => {
      const client = this.#clients.get(stream);
      if (client === undefined) stream.destroy();
      else if (client.busy || client.tunnel !== undefined) this.#refuseNested(client);
      else client.enqueue(() => this.#serveConnect(client, request, head));
    });
    server.on('clientError', (error, stream) => this.#onParseError(error, stream));
    return server;
  }

  async #serveRequest(
    client: Client,
    request: IncomingMessage,
    response: ServerResponse,
    mayContinue: boolean,
  ): Promise<void> {
    // The answer before this one was the last.
    if (client.stream.writableEnded || client.stream.destroyed) return;
    const { method = '' } = request;
    let subject: Subject = { ...nobody('http'), method };
    let plain: PlainRequest;
    let passing: Passing | undefined;
    let socket: Socket;
    try {
      plain = readPlainRequest(request, client.tunnel);
      subject = { ...subject, ...named(plain.target) };
      const rules = this.#judge(plain.target);
      passing = await this.#announce(subject);
      socket = await this.#reach(client, plain.target, rules);
    } catch (error) {
      const refusal = asRefusal(error);
      this.#log.refuse(subject, refusal, passing);
      if (client.gone.aborted) return;
      return new Promise((resolve) => {
        response.once('close', resolve);
        answer(response, refusal);
      });
    }
    const entry = this.#log.allow(subject, socket, passing);
    if (mayContinue) response.writeContinue();
    const { idleSec } = this.#limits;
    await finish(entry, client, forward(request, response, { plain, socket, idleSec }));
  }

  async #serveConnect(client: Client, request: IncomingMessage, head: Buffer): Promise<void> {
    const { stream } = client;
    let subject = nobody('connect');
    let target: Authority;
    let passing: Passing | undefined;
    let socket: Socket;
    if (head.length > 0) stream.unshift(head);
    try {
      target = readConnect(request);
      subject = { ...subject, ...named(target) };
      const rules = this.#judge(target);
      if (target.port === HTTP_PORT) return this.#openPlainTunnel(client, target);
      passing = await this.#announce(subject);
      socket = await this.#reach(client, target, rules);
    } catch (error) {
      const refusal = asRefusal(error);
      this.#log.refuse(subject, refusal, passing);
      answerBare(stream, refusal);
      return;
    }
    const entry = this.#log.allow(subject, socket, passing);
    stream.write('HTTP/1.1 200 Connection established\r\n\r\n');
    const options = { target, limits: this.#limits, signal: client.gone };
    await finish(entry, client, tunnel(stream, socket, options));
  }

  /** What comes now are requests as a server gets them. */
  #openPlainTunnel(client: Client, target: Authority): void {
    client.tunnel = target;
    client.stream.write('HTTP/1.1 200 Connection established\r\n\r\n');
    this.#server.emit('connection', client.stream);
  }

  /** Its answer would have to wait for others, or would be one of a server; no client needs either. */
  #refuseNested({ stream }: Client): void {
    const why = 'CONNECT comes while another request is answered, or in a tunnel';
    this.#log.refuse(
      nobody('connect'),
      new Refusal('malformed', `Glovebox: the request is refused since ${why}.`),
    );
    stream.destroy();
  }

  #refuseOneMore(stream: Duplex): void {
    const most = this.#limits.connections;
    const refusal = new Refusal('busy', `Glovebox: ${most} connections at one time are the most.`);
    this.#log.refuse(nobody('http'), refusal);
    // It costs memory until its end is heard of; a flood of them is not even told why.
    if (this.#open.size > 4 * most) stream.destroy();
    else new Client(stream, { ...this.#limits, requestSec: this.#limits.lingerSec });
    answerBare(stream, refusal);
  }

  /** Gives the rules that let it pass. */
  #judge(target: Authority): CompiledRules {
    const rules = this.#rules;
    const refusal = judge(rules, target);
    if (refusal !== undefined) throw refusal;
    return rules;
  }

  /** Resolves once whoever listens has taken note of it. */
  async #announce(subject: Subject): Promise<Passing | undefined> {
    if (this.#onPassing === undefined) return undefined;
    const connection = randomBytes(6).toString('hex');
    const passing = { connection, at: new Date().toISOString(), ...subject };
    try {
      await this.#onPassing(passing);
    } catch {
      // Why is told to whoever asks for something next; inside it is nobody's business.
      throw new Refusal(
        'unrecorded',
        `Glovebox: ${quoted(subject.host)} on port ${subject.port} is allowed, but that could not be recorded.`,
      );
    }
    return passing;
  }

  async #reach(client: Client, target: Authority, rules: CompiledRules): Promise<Socket> {
    const socket = await dial(target, {
      rules,
      resolve: this.#resolve,
      limits: this.#limits,
      signal: client.gone,
    });
    this.#hold(socket);
    return socket;
  }

  #onParseError(error: NodeJS.ErrnoException, stream: Duplex): void {
    const client = this.#clients.get(stream);
    const readable = error.code?.startsWith('HPE_') === true && client?.busy === false && stream.writable;
    if (!readable) {
      stream.destroy();
      return;
    }
    const refusal = new Refusal(
      'malformed',
      'Glovebox: the request is refused since it is not well-formed HTTP.',
    );
    this.#log.refuse(
      client.tunnel ? { ...nobody('http'), ...named(client.tunnel) } : nobody('http'),
      refusal,
    );
    answerBare(stream, refusal);
  }

  #hold(stream: Duplex): void {
    this.#open.add(stream);
    stream.once('close', () => this.#open.delete(stream));
    if (this.#closed) stream.destroy();
  }
}

function nobody(via: NetworkDecision['via']): Subject {
  return { host: '', port: 0, via };
}

function named({ host, port }: Authority): { host: string; port: number } {
  return { host: host.name, port };
}

/** Waits for the end of what passes. A bug of ours ends that one connection and is told in its decision. */
async function finish(entry: Entry, { stream }: Client, over: Promise<Refusal | undefined>): Promise<void> {
  try {
    entry.finish(await over);
  } catch (error) {
    stream.destroy();
    entry.finish(asRefusal(error));
  }
}

function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  return new Refusal('failed', `Glovebox: its proxy failed. ${quoted(String(error))}`);
}
