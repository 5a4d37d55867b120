/** Who is answered over HTTP. Each refusal stands beside the same request that is answered. */
import { request } from 'node:http';
import { expect, it } from 'vitest';
import { describeWith } from '../e2e/support/needs.ts';
import { eventually } from '../support/eventually.ts';
import { call, ended, type HttpServer, TOKEN, useMcp } from './support.ts';

const INITIALIZE = JSON.stringify({
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

const GOOD = {
  authorization: `Bearer ${TOKEN}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
  readonly path?: string;
}

interface Answered {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** One request as it is, with any Host; nothing is waited for but the head of the answer. */
function ask(
  { url }: HttpServer,
  { method = 'POST', headers = {}, body, path }: Sent = {},
): Promise<Answered> {
  const { hostname, port, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const all = Object.entries({ ...GOOD, ...headers }).filter(([, value]) => value !== undefined);
    const sent = request(
      { host: hostname, port, path: path ?? pathname, method, headers: Object.fromEntries(all) as never },
      (response) => {
        resolve({ status: response.statusCode, headers: response.headers });
        response.destroy();
      },
    );
    sent.on('error', reject);
    sent.end(method === 'POST' ? (body ?? INITIALIZE) : undefined);
  });
}

describeWith(['bubblewrap'], 'a server over HTTP', () => {
  const world = useMcp();

  it('answers those that know the token, ask it by its name, and are no foreign page', async () => {
    const server = await world.listen({ flags: ['--allow-host', 'box.example.org'] });
    const { port } = new URL(server.url);
    const refused: readonly [number, Sent][] = [
      [401, { headers: { authorization: undefined } }],
      [401, { headers: { authorization: 'Bearer wrong' } }],
      [401, { headers: { authorization: `Bearer ${TOKEN}x` } }],
      [401, { headers: { authorization: `Bearer ${TOKEN.slice(0, -1)}` } }],
      [401, { headers: { authorization: `Basic ${TOKEN}` } }],
      [401, { headers: { authorization: undefined }, path: `/mcp?token=${TOKEN}` }],
      [401, { headers: { authorization: undefined }, method: 'GET' }],
      [403, { headers: { host: 'attacker.example.org' } }],
      [403, { headers: { host: `attacker.example.org:${port}` } }],
      [403, { headers: { host: '127.0.0.1:1' } }],
      [403, { headers: { origin: 'https://attacker.example.org' } }],
      [403, { headers: { origin: 'null' } }],
      [403, { headers: { origin: 'http://localhost:1' } }],
      [415, { headers: { 'content-type': 'text/plain' } }],
      [415, { headers: { 'content-type': undefined } }],
      [404, { path: '/' }],
      [404, { headers: { 'mcp-session-id': '00000000-0000-4000-8000-000000000000' } }],
      [400, { method: 'GET' }],
      [400, { body: '{' }],
      [413, { body: `"${'x'.repeat(17 * 1024 * 1024)}"` }],
    ];
    for (const [status, sent] of refused) {
      expect({
        sent: { ...sent, body: sent.body?.slice(0, 9) },
        status: (await ask(server, sent)).status,
      }).toEqual({
        ...{ sent: { ...sent, body: sent.body?.slice(0, 9) }, status },
      });
    }
    for (const headers of [
      {},
      { host: `localhost:${port}` },
      { host: 'box.example.org' },
      { origin: server.url.slice(0, -4) },
    ]) {
      const { status, headers: answered } = await ask(server, { headers });
      expect({ headers, status }).toEqual({ headers, status: 200 });
      expect(answered).toMatchObject({
        'mcp-session-id': expect.any(String),
        'cache-control': expect.any(String),
      });
      expect(answered['access-control-allow-origin']).toBeUndefined();
    }
    expect(server.stderr()).not.toContain(TOKEN);
  });

  it('makes a token where none is given, and tells it on standard error alone', async () => {
    const server = await world.listen({ env: { GLOVEBOX_MCP_TOKEN: '' } });
    const [, token] = /Authorization: Bearer (\S{43})\n/.exec(server.stderr()) ?? [];
    expect((await ask(server, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
    expect((await ask(server)).status).toBe(401);
  });

  it('refuses to start with a token that can be guessed', async () => {
    await expect(world.listen({ env: { GLOVEBOX_MCP_TOKEN: 'secret' } })).rejects.toThrow(
      'cannot be guessed',
    );
  });

  it('knows no sandbox of another session', async () => {
    const server = await world.listen();
    const [one, other] = [await world.connect(server), await world.connect(server)];
    const { structured } = await call(one, 'code_write_file', { path: 'secret.txt', content: 'secret' });
    const { sandbox_id } = structured;
    const uri = `glovebox://sandboxes/${sandbox_id}/files/secret.txt`;
    for (const [name, input] of [
      ['code_execute', { code: '1' }],
      ['code_write_file', { path: 'a', content: '' }],
      ['code_read_file', { path: 'secret.txt' }],
      ['code_list_files', {}],
      ['code_install_package', { package: 'a' }],
      ['code_destroy_sandbox', {}],
    ] as const) {
      expect(await call(other, name, { ...input, sandbox_id })).toMatchObject({
        ...{ isError: true, structured: { error: { code: 'SANDBOX_NOT_FOUND' } } },
      });
    }
    await expect(other.readResource({ uri })).rejects.toThrow('not found');
    expect((await other.listResources()).resources).toEqual([]);
    expect((await one.readResource({ uri })).contents).toMatchObject([{ text: 'secret' }]);
  });

  it('has room for so many sessions, and again when one has ended', async () => {
    const server = await world.listen({ flags: ['--max-sessions', '2'] });
    const first = await ask(server);
    await ask(server);
    expect(await ask(server)).toMatchObject({ status: 429, headers: { 'retry-after': '10' } });
    const session = { 'mcp-session-id': String(first.headers['mcp-session-id']) };
    expect((await ask(server, { method: 'DELETE', headers: session })).status).toBe(200);
    expect((await ask(server, { headers: session })).status).toBe(404);
    expect((await ask(server)).status).toBe(200);
  });

  it('ends a session that nobody uses, with its sandboxes', async () => {
    const server = await world.listen({ flags: ['--idle-timeout', '1', '--max-sessions', '1'] });
    const client = await world.connect(server);
    await call(client, 'code_write_file', { path: 'a', content: '' });
    await eventually('there is room again', async () => (await ask(server)).status === 200, {
      deadlineMs: 20_000,
    });
    await expect(client.listTools()).rejects.toThrow('no such session');
  });

  it('listens for this machine alone unless it is told to, and says what that means', async () => {
    const server = await world.listen({ flags: ['--host', '0.0.0.0'] });
    await eventually('it warns', () => server.stderr().includes('nothing is encrypted'));
    expect((await ask({ ...server, url: server.url.replace('0.0.0.0', '127.0.0.1') })).status).toBe(200);
    expect(await ended(server.process)).toBe(0);
    const { url } = await world.listen();
    expect(new URL(url).hostname).toBe('127.0.0.1');
  });
});
