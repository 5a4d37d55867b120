/** The same six operations by every way in: each answers the same JSON, or the code of the error. */
import { isSandboxError } from '../../src/errors.ts';
import { getSandbox } from '../../src/operations/getSandbox.ts';
import { SandboxManager } from '../../src/operations/sandboxManager.ts';
import type { SandboxService } from '../../src/operations/sandboxService.ts';
import { installResultToJson } from '../../src/result/installResultJson.ts';
import { resultToJson } from '../../src/result/resultJson.ts';
import type { Command } from '../e2e/support/command.ts';
import type { TestServer } from '../http/support.ts';
import { call, type McpWorld } from '../mcp/support.ts';

export type Json = Readonly<Record<string, unknown>>;

/** What one operation came to. */
export type Answer = Json | { readonly error: string };

export interface Program {
  readonly code: string;
  readonly language?: string;
  readonly timeout?: number;
}

/** One way in. What cannot be asked for by a way at all has no member there. */
export interface Way {
  executeOnce(program: Program): Promise<Answer>;
  create(): Promise<string>;
  execute(id: string, program: Program): Promise<Answer>;
  install(id: string, name: string, registry: string): Promise<Answer>;
  write(id: string, path: string, content: string): Promise<Answer>;
  read(id: string, path: string): Promise<Answer>;
  list(id: string, path: string): Promise<Answer>;
  destroy(id: string): Promise<Answer>;
}

/** In this process. */
export function library(configFile: string): { readonly way: Way; readonly close: () => Promise<void> } {
  const manager = new SandboxManager({ configFile });
  const executeOnce: Way['executeOnce'] = ({ code, ...options }) =>
    answerOf(async () => resultToJson(await getSandbox({ configFile }).execute(code, options)));
  return { way: { ...serviceWay(manager), executeOnce }, close: () => manager.close() };
}

/** By a client of ours over HTTP. */
export function clientWay(
  service: SandboxService & {
    execute(code: string, options?: object): Promise<Parameters<typeof resultToJson>[0]>;
  },
): Way {
  return {
    ...serviceWay(service),
    executeOnce: ({ code, ...options }) =>
      answerOf(async () => resultToJson(await service.execute(code, options))),
  };
}

function serviceWay(service: SandboxService): Omit<Way, 'executeOnce'> {
  return {
    create: () => service.createSandbox({ language: 'python' }),
    execute: (id, { code, ...options }) =>
      answerOf(async () => resultToJson(await service.executeCode(id, code, options))),
    install: (id, name, registry) =>
      answerOf(async () =>
        installResultToJson(await service.installPackage(id, name, registry as 'pypi' | 'npm')),
      ),
    write: (id, path, content) => answerOf(async () => ({ ...(await service.writeFile(id, path, content)) })),
    read: (id, path) => answerOf(async () => ({ ...(await service.readFile(id, path)) })),
    list: (id, path) =>
      answerOf(async () => {
        const { files } = await service.listFiles(id, path);
        return { files: files.map(({ modifiedAt, ...entry }) => ({ ...entry, modified_at: modifiedAt })) };
      }),
    destroy: (id) =>
      answerOf(async () => {
        await service.destroySandbox(id);
        return {};
      }),
  };
}

/** By the built command. */
export function commandLine(glovebox: Command, env: Readonly<Record<string, string>>): Way {
  const run = async (...args: string[]): Promise<Answer> => {
    const { stdout, stderr } = await glovebox.run(args, { env });
    if (stdout === '' && stderr === '') return {};
    try {
      const json = JSON.parse(stdout) as Json & { error?: { code: string } };
      return json.error === undefined ? json : { error: json.error.code };
    } catch (error) {
      throw new Error(`glovebox ${args.join(' ')}: ${stdout}${stderr}`, { cause: error });
    }
  };
  const flags = ({ code, language, timeout }: Program): string[] => [
    ...['-c', code, '--json'],
    ...(language === undefined ? [] : ['-l', language]),
    ...(timeout === undefined ? [] : ['--timeout', String(timeout)]),
  ];
  return {
    executeOnce: (program) => run('run', ...flags(program)),
    create: async () => String(((await run('sandbox', 'create', '--json')) as Json)['id']),
    execute: (id, program) => run('sandbox', 'exec', id, ...flags(program)),
    install: (id, name, registry) => run('sandbox', 'install', id, name, '--registry', registry, '--json'),
    write: (id, path, content) => run('sandbox', 'write', id, path, '--text', content, '--json'),
    read: (id, path) => run('sandbox', 'read', id, path, '--json'),
    list: (id, path) => run('sandbox', 'ls', id, path, '--json'),
    destroy: (id) => run('sandbox', 'rm', id, '--json'),
  };
}

/** By the official client of the protocol. */
export async function mcp(world: McpWorld, env: Readonly<Record<string, string>>): Promise<Way> {
  const { client } = await world.overStdio({ env });
  const ask = async (name: string, input: Record<string, unknown>): Promise<Answer> => {
    const { structured } = await call(client, name, input);
    const { error } = structured as { error?: { code?: string } };
    return error?.code === undefined ? structured : { error: error.code };
  };
  return {
    executeOnce: (program) => ask('code_execute', { ...program }),
    create: async () =>
      String(((await ask('code_execute', { code: '', sandbox_id: 'new' })) as Json)['sandbox_id']),
    execute: (id, program) => ask('code_execute', { ...program, sandbox_id: id }),
    install: (id, name, registry) => ask('code_install_package', { package: name, registry, sandbox_id: id }),
    write: (id, path, content) => ask('code_write_file', { path, content, sandbox_id: id }),
    read: (id, path) => ask('code_read_file', { path, sandbox_id: id }),
    list: (id, path) => ask('code_list_files', { path, sandbox_id: id }),
    destroy: (id) => ask('code_destroy_sandbox', { sandbox_id: id }),
  };
}

/** By requests as anybody makes them. */
export function http(server: TestServer): Way {
  const ask = async (method: string, path: string, asking = {}): Promise<Answer> => {
    const { json, text } = await server.ask(method, path, asking);
    if (json?.error?.code !== undefined && json.outcome === undefined) return { error: json.error.code };
    return json ?? (text === '' ? {} : { text });
  };
  const at = (id: string, rest: string, path?: string): string =>
    `/v1/sandboxes/${id}/${rest}${path === undefined ? '' : `?path=${encodeURIComponent(path)}`}`;
  return {
    executeOnce: (program) => ask('POST', '/v1/executions', { json: program }),
    create: async () =>
      String(((await ask('POST', '/v1/sandboxes', { json: { language: 'python' } })) as Json)['sandbox_id']),
    execute: (id, program) => ask('POST', at(id, 'executions'), { json: program }),
    install: (id, name, registry) => ask('POST', at(id, 'packages'), { json: { package: name, registry } }),
    write: (id, path, content) =>
      ask('PUT', at(id, 'files/content', path), { bytes: new TextEncoder().encode(content) }),
    async read(id, path) {
      const answer = await ask('GET', at(id, 'files/content', path));
      if (!('text' in answer)) return answer;
      const content = String(answer['text']);
      return { content, encoding: 'utf8', size: Buffer.byteLength(content) };
    },
    list: (id, path) => ask('GET', at(id, 'files', path)),
    destroy: (id) => ask('DELETE', `/v1/sandboxes/${id}`),
  };
}

async function answerOf(act: () => Promise<Json>): Promise<Answer> {
  try {
    return await act();
  } catch (error) {
    if (isSandboxError(error)) return { error: error.code };
    throw error;
  }
}
