/** A server in this process, with a folder and keys of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trace } from '@opentelemetry/api';
import type { Caller } from '../../src/http/keys.ts';
import type { Limits } from '../../src/http/limits.ts';
import { openLog } from '../../src/http/logging.ts';
import { type RunningServer, type ServerOptions, startServer } from '../../src/http/server.ts';
import { eventually } from '../support/eventually.ts';

/** That may carry a thousand bytes an hour. */
const light = (name: string): Caller => ({
  ...{ id: `key-${name}`, name, scopes: ['execute'], quotas: { bytesPerHour: 1000 } },
});

const KEYS: Readonly<Record<string, Caller>> = {
  lightIn: light('lightIn'),
  lightOut: light('lightOut'),
  one: { id: 'key-one', name: 'one', scopes: ['execute'], quotas: {} },
  other: { id: 'key-other', name: 'other', scopes: ['execute'], quotas: {} },
  operator: { id: 'key-operator', name: 'operator', scopes: ['approve', 'audit', 'metrics'], quotas: {} },
  both: { id: 'key-both', name: 'both', scopes: ['execute', 'approve'], quotas: {} },
  small: {
    id: 'key-small',
    name: 'small',
    scopes: ['execute'],
    quotas: { executionsPerMinute: 1, maxSandboxes: 1 },
  },
};

export type KeyName = 'one' | 'other' | 'operator' | 'both' | 'small' | LightKeyName;
type LightKeyName = 'lightIn' | 'lightOut';

export interface Asking {
  /** By the name of a key; `null` for none. */
  readonly key?: KeyName | null;
  readonly json?: unknown;
  readonly bytes?: Uint8Array;
  /** Of the bytes. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every kind, which tests compare as whole values.
export type Json = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Json;
}

export interface TestServer {
  readonly server: RunningServer;
  readonly url: string;
  readonly folder: string;
  readonly log: readonly string[];
  /** Answers as they come. */
  fetch(method: string, path: string, asking?: Asking): Promise<Response>;
  ask(method: string, path: string, asking?: Asking): Promise<Answer>;
  close(): Promise<void>;
}

export interface TestServerOptions {
  readonly limits?: Partial<Limits>;
  readonly env?: Readonly<Record<string, string>>;
  readonly configFile?: string;
  readonly mount?: ServerOptions['mount'];
}

export async function startTestServer({
  limits,
  env,
  configFile,
  mount,
}: TestServerOptions = {}): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'http-test-'));
  const log: string[] = [];
  const server = await startServer({
    ...{ host: '127.0.0.1', port: 0, runtime: 'bubblewrap' },
    keys: {
      authenticate: (secret) => KEYS[secret ?? ''],
      find: (id) => Object.values(KEYS).find((key) => key.id === id),
    },
    log: openLog({ isJson: true, write: (line) => log.push(line) }),
    telemetry: { tracer: trace.getTracer('test'), close: async () => {} },
    surroundings: {
      cwd: folder,
      homeDir: folder,
      env: {
        XDG_STATE_HOME: join(folder, 'state'),
        SANDBOX_AUDIT_DIR: join(folder, 'audit'),
        SANDBOX_STORE_CODE: 'never',
        ...(process.env['SANDBOX_PYTHON'] === undefined
          ? {}
          : { SANDBOX_PYTHON: process.env['SANDBOX_PYTHON'] }),
        ...env,
      },
      ...(configFile === undefined ? {} : { configFile }),
    },
    ...(limits === undefined ? {} : { limits }),
    ...(mount === undefined ? {} : { mount }),
  });
  const fetchIt: TestServer['fetch'] = (method, path, asking = {}) => {
    const { key = 'one', json, bytes, type = 'application/octet-stream', headers, signal } = asking;
    return fetch(`${server.url}${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(bytes === undefined ? {} : { 'content-type': type }),
        ...headers,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      ...(bytes === undefined ? {} : { body: bytes as Uint8Array<ArrayBuffer> }),
      ...(signal === undefined ? {} : { signal }),
    });
  };
  return {
    ...{ server, folder, log, url: server.url },
    fetch: fetchIt,
    async ask(method, path, asking) {
      const response = await fetchIt(method, path, asking);
      const text = await response.text();
      const isJson = response.headers.get('content-type') === 'application/json';
      return {
        ...{ status: response.status, headers: response.headers, text },
        json: isJson ? JSON.parse(text) : undefined,
      };
    },
    async close() {
      await server.close({ drainSec: 0 });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface SentEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: Json;
}

/** The events of an answer as they come; comments are left out. */
export async function* eventsOf(response: Response): AsyncGenerator<SentEvent> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      if (block.startsWith(':')) continue;
      const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
      yield { id: field('id'), event: field('event') ?? '', data: JSON.parse(field('data') ?? 'null') };
    }
  }
}

/** Waits until an execution is in a state. */
export function untilState(server: TestServer, id: string, state: string): Promise<void> {
  return eventually(`the execution ${id} is ${state}`, async () => {
    return (await server.ask('GET', `/v1/executions/${id}`)).json.state === state;
  });
}
