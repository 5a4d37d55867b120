/**
 * The official inspector and the official conformance suite, which `scripts/mcp-peers.sh` puts into a folder of their own:
 * they need a newer Node.js.
 */
import { execFile } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ensureBuilt, MAIN } from '../e2e/support/build.ts';
import { pythonIndex, serve, wheel } from '../support/packageIndexes.ts';
import { settingsFile, TOKEN, useMcp } from './support.ts';

const FOLDER = process.env['MCP_PEERS'];
const isRequired = (process.env['REQUIRED_RUNTIMES'] ?? '').split(',').includes('mcp-peers');
const EXCEPTIONS = join(import.meta.dirname, 'conformance-exceptions.yaml');

const inFolder = (path: string): string => join(FOLDER ?? '', 'node_modules', path);
const NODE = inFolder('node/bin/node');

if (FOLDER === undefined) {
  const why =
    'MCP_PEERS names no folder with the inspector and the conformance suite: run scripts/mcp-peers.sh';
  describe('the official peers', () => {
    if (!isRequired) it.skip(`are not here (${why})`, () => {});
    else
      it('are required by REQUIRED_RUNTIMES', () => {
        throw new Error(why);
      });
  });
} else {
  describe('the official inspector', { timeout: 120_000 }, () => {
    const world = useMcp();

    const inspect = async (args: readonly string[]): Promise<Record<string, unknown>> => {
      const command = [inFolder('.bin/mcp-inspector'), '--cli', ...args];
      // Where a tool says that it could not, the inspector says so by its status.
      const { stdout } = await promisify(execFile)(NODE, command, { cwd: world.folder, env: world.env });
      return JSON.parse(stdout);
    };
    const toolArgs = (name: string, input: Readonly<Record<string, string>>) => [
      ...['--method', 'tools/call', '--tool-name', name],
      ...Object.entries(input).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`]),
    ];

    it('lists the tools, and calls those that need no kept sandbox, over stdio', async () => {
      await ensureBuilt();
      // Its `-e` is for the server; what it inherits is not enough.
      const env = Object.entries(world.env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
      const target = [...env, process.execPath, MAIN, 'mcp'];
      const { tools } = await inspect([...target, '--method', 'tools/list', '--strict']);
      expect(tools).toHaveLength(6);
      const code = 'print(6 * 7)';
      expect(await inspect([...target, ...toolArgs('code_execute', { code })])).toMatchObject({
        content: [{ type: 'text', text: '42' }],
      });
      const file = { path: 'a.txt', content: 'text' };
      expect(await inspect([...target, ...toolArgs('code_write_file', file)])).toMatchObject({
        isError: false,
      });
      // Each time it is a new server, which knows no sandbox yet; the others are called over HTTP.
      for (const [name, input] of [
        ['code_install_package', { package: 'a' }],
        ['code_read_file', { path: 'a.txt' }],
        ['code_list_files', {}],
        ['code_destroy_sandbox', {}],
      ] as const) {
        const args = toolArgs(name, { ...input, sandbox_id: 'unknown' });
        await expect(inspect([...target, ...args])).rejects.toMatchObject({
          stdout: expect.stringContaining('SANDBOX_NOT_FOUND'),
        });
      }
    });

    it('calls all of them in one kept sandbox over HTTP', async () => {
      const index = await serve(pythonIndex(wheel('greeter', '1.0.0', { 'greeter.py': 'word = "hello"' })));
      const network = {
        host_map: { 'index.test': index.endpoint },
        allowed_registries: { pypi: ['http://index.test/simple'] },
      };
      const config = settingsFile(world.folder, { network, gate: 'off', runtime: 'bubblewrap' });
      const { url } = await world.listen({ flags: ['--config', config] });
      const target = [url, '--header', `Authorization: Bearer ${TOKEN}`, '--protocol-era', 'modern'];
      const callTool = (name: string, input: Readonly<Record<string, string>>) =>
        inspect([...target, ...toolArgs(name, input)]);
      const { tools } = await inspect([...target, '--method', 'tools/list']);
      expect(tools).toHaveLength(6);
      const { structuredContent } = await callTool('code_write_file', { path: 'a.txt', content: 'text' });
      const { sandbox_id } = structuredContent as { sandbox_id: string };
      const code = "open('a.txt').read() * 2";
      expect(await callTool('code_execute', { code, sandbox_id })).toMatchObject({
        structuredContent: { results: [{ text: "'texttext'" }] },
      });
      expect(await callTool('code_read_file', { path: 'a.txt', sandbox_id })).toMatchObject({
        content: [{ text: 'text' }],
      });
      expect(await callTool('code_list_files', { sandbox_id })).toMatchObject({
        structuredContent: { files: [{ name: 'a.txt' }] },
      });
      expect(await callTool('code_install_package', { package: 'greeter', sandbox_id })).toMatchObject({
        structuredContent: { ok: true, version: '1.0.0' },
      });
      const use = 'import greeter; greeter.word';
      expect(await callTool('code_execute', { code: use, sandbox_id })).toMatchObject({
        structuredContent: { results: [{ text: "'hello'" }] },
      });
      const uri = `glovebox://sandboxes/${sandbox_id}/files/a.txt`;
      expect(await inspect([...target, '--method', 'resources/read', '--uri', uri])).toMatchObject({
        contents: [{ text: 'text' }],
      });
      expect(await callTool('code_destroy_sandbox', { sandbox_id })).toMatchObject({
        structuredContent: { destroyed: true },
      });
    });
  });

  describe('the official conformance suite', { timeout: 120_000 }, () => {
    const world = useMcp();

    it('finds nothing but what is listed, with its reason, in conformance-exceptions.yaml', async () => {
      const server = await world.listen();
      const url = await withToken(server.url);
      const command = [inFolder('.bin/conformance'), 'server', '--url', url, '--suite', 'all'];
      const ended = await promisify(execFile)(NODE, [...command, '--expected-failures', EXCEPTIONS], {
        ...{ cwd: world.folder, env: world.env, maxBuffer: 64 * 1024 * 1024 },
      }).catch((error: { stdout: string; code: number }) => error);
      const { stdout, code = 0 } = { code: 0, ...ended };
      const [, unexpected = ''] = /Unexpected failures(.*)$/s.exec(stdout) ?? [];
      expect({ code, unexpected }).toEqual({ code: 0, unexpected: '' });
      const passed = [...stdout.matchAll(/^✓ (\S+): [1-9]\d* passed, 0 failed$/gm)].map(([, name]) => name);
      expect(passed).toEqual([
        ...['server-initialize', 'ping', 'tools-list', 'tools-call-simple-text', 'tools-call-image'],
        ...['tools-call-error', 'tools-call-with-progress', 'tools-call-elicitation'],
        ...['server-sse-multiple-streams', 'resources-list', 'prompts-list', 'prompts-get-simple'],
        ...['prompts-get-with-args', 'dns-rebinding-protection'],
      ]);
    });
  });
}

/** A picture of one pixel, as a program shows it. */
const PICTURE = `import base64
class Picture:
    def _repr_png_(self):
        return base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==')
Picture()`;

/** Three lines, so far from each other that each is told by itself. */
const SLOW = `import time
for i in range(3):
    print(i, flush=True)
    time.sleep(0.4)`;

const run = (code: string, more: Readonly<Record<string, string>> = {}) => ({
  name: 'code_execute',
  arguments: { code, ...more },
});
const analyze = (question: unknown, data?: unknown) => ({
  name: 'analyze_data',
  arguments: { question, ...(data === undefined ? {} : { data }) },
});

/** What the suite calls in its own example server, as our tools and prompts do it. */
const TRANSLATIONS: Readonly<Record<string, (given: Readonly<Record<string, unknown>>) => object>> = {
  test_simple_text: () => run("print('This is a simple text response for testing.')"),
  test_image_content: () => run(PICTURE, { sandbox_id: 'new' }),
  test_error_handling: () => ({ name: 'code_list_files', arguments: { sandbox_id: 'unknown' } }),
  test_tool_with_progress: () => run(SLOW),
  // A person is asked about that, and what the client of the suite answers is no yes.
  test_elicitation: () => run("import shutil; shutil.rmtree('/srv/data')"),
  test_simple_prompt: () => analyze('How many rows are there?'),
  test_prompt_with_arguments: ({ arg1, arg2 }) => analyze(arg1, arg2),
};

/**
 * The suite sends no token, and asks for things of its own: this adds the one and translates the others. The server in
 * which both arrive is as it is.
 */
async function withToken(target: string): Promise<string> {
  const { hostname, port } = new URL(target);
  const proxy = createServer(async (incoming, outgoing) => {
    const headers: Record<string, string | string[] | undefined> = { ...incoming.headers };
    const own = `:${(proxy.address() as AddressInfo).port}`;
    for (const name of ['host', 'origin']) {
      if (headers[name] !== undefined) headers[name] = String(headers[name]).replace(own, `:${port}`);
    }
    headers['authorization'] = `Bearer ${TOKEN}`;
    const body = translated(await text(incoming));
    delete headers['transfer-encoding'];
    if (body !== '') headers['content-length'] = String(Buffer.byteLength(body));
    const { url: path, method } = incoming;
    const forwarded = request({ hostname, port, path, method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    forwarded.end(body);
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://localhost:${(proxy.address() as AddressInfo).port}/mcp`;
}

function translated(body: string): string {
  const { params, ...message } = body.startsWith('{') ? JSON.parse(body) : { params: undefined };
  const translate = TRANSLATIONS[params?.name];
  if (translate === undefined) return body;
  return JSON.stringify({ ...message, params: { ...params, ...translate(params.arguments ?? {}) } });
}
