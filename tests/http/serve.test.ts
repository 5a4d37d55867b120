/** `glovebox serve` as it is built: how it begins, what it tells, and how it ends. */
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { type Command, useCommand } from '../e2e/support/command.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { eventually } from '../support/eventually.ts';
import { NO_TRACES, processesWith, tracesOf } from '../support/traces.ts';
import type { Json } from './support.ts';

const command = useCommand();

const SETTINGS = {
  SANDBOX_STORE_CODE: 'never',
  SANDBOX_TYPE: 'bubblewrap',
  ...(process.env['SANDBOX_PYTHON'] === undefined ? {} : { SANDBOX_PYTHON: process.env['SANDBOX_PYTHON'] }),
};

const stateFile = ({ home }: Command): string => join(home, 'state/glovebox/serve.json');

async function makeKey(...scopes: string[]): Promise<{ id: string; secret: string }> {
  const flags = scopes.flatMap((scope) => ['--scope', scope]);
  const { status, stdout, stderr } = await command.run([
    'keys',
    'create',
    '--name',
    'test',
    ...flags,
    '--json',
  ]);
  expect([status, stderr]).toEqual([0, '']);
  const { secret, key } = JSON.parse(stdout);
  return { secret, id: key.id };
}

async function startServing(...given: (string | Readonly<Record<string, string>>)[]) {
  const flags = given.filter((one) => typeof one === 'string');
  const env = Object.assign({}, SETTINGS, ...given.filter((one) => typeof one !== 'string'));
  const running = await command.start(['serve', '--port', '0', '--json-logs', ...flags], {
    ...{ env, deadlineMs: 60_000 },
  });
  await running.prints('\n');
  const url = running.stdout().trim();
  const ask = async (method: string, path: string, secret: string, body?: unknown): Promise<Json> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      json: text === '' ? null : JSON.parse(text),
    };
  };
  return { ...running, url, ask };
}

/** What nobody else sleeps for. */
const uniqueSleep = (): string => `30.${randomInt(1e9, 1e10)}`;

describeWith(['bubblewrap'], 'glovebox serve', () => {
  it('lets stored keys in as long as they hold, tells where it is, and ends in good order', async () => {
    const { id, secret } = await makeKey('execute');
    const server = await startServing();
    expect(JSON.parse(readFileSync(stateFile(command), 'utf8'))).toEqual({
      url: server.url,
      pid: server.pid,
    });
    expect(statSync(stateFile(command)).mode & 0o777).toBe(0o600);

    const program = { code: 'print(6 * 7)' };
    const first = await server.ask('POST', '/v1/executions', secret, program);
    expect([first.status, first.json.stdout]).toEqual([200, '42\n']);
    const rotated = JSON.parse(
      (await command.run(['keys', 'rotate', id, '--overlap-hours', '0', '--json'])).stdout,
    ).secret;
    expect((await server.ask('POST', '/v1/executions', secret, program)).status).toBe(401);
    expect((await server.ask('POST', '/v1/executions', rotated, program)).status).toBe(200);
    await command.run(['keys', 'revoke', id]);
    const revoked = await server.ask('POST', '/v1/executions', rotated, program);
    expect([revoked.status, revoked.json.error.code]).toEqual([401, 'UNAUTHENTICATED']);

    process.kill(server.pid, 'SIGTERM');
    const { status, stderr } = await server.finished;
    expect(status).toBe(0);
    expect(existsSync(stateFile(command))).toBe(false);
    const told = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).msg);
    expect([told[0], told[1], ...told.slice(-2)]).toEqual(['swept', 'listening', 'ending', 'ended']);
    for (const hidden of [secret, rotated, '6 * 7']) expect(stderr).not.toContain(hidden);
    expect(tracesOf(server.pid)).toEqual(NO_TRACES);
  });

  it('lets what runs end when it is told to end, begins nothing new, and cancels what is late', async () => {
    const { secret } = await makeKey('execute');
    const server = await startServing('--drain-sec', '2');
    const [short, long] = [uniqueSleep().replace('30', '1'), uniqueSleep()];
    const box = `/v1/sandboxes/${(await server.ask('POST', '/v1/sandboxes', secret, {})).json.sandbox_id}`;
    const ending = server.ask('POST', '/v1/executions', secret, { command: ['sleep', short] });
    const late = server.ask('POST', `${box}/executions`, secret, { command: ['sleep', long] });
    await eventually('both run', () => processesWith(short).length > 0 && processesWith(long).length > 0);
    process.kill(server.pid, 'SIGTERM');
    await eventually('it takes no more', async () => (await fetch(`${server.url}/readyz`)).status === 503);
    const refused = await server.ask('POST', '/v1/executions', secret, { code: 'print(1)' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    expect((await ending).json).toMatchObject({ outcome: 'exited', exit_code: 0 });
    expect((await late).json).toMatchObject({ outcome: 'cancelled', exit_code: 130 });
    expect((await server.finished).status).toBe(0);
    expect([processesWith(long), tracesOf(server.pid)]).toEqual([[], NO_TRACES]);
  });

  it('ends at once when it is told so twice', async () => {
    const { secret } = await makeKey('execute');
    const server = await startServing('--drain-sec', '600');
    const long = uniqueSleep();
    server.ask('POST', '/v1/executions', secret, { command: ['sleep', long] }).catch(() => {});
    await eventually('it runs', () => processesWith(long).length > 0);
    process.kill(server.pid, 'SIGINT');
    await eventually('it takes no more', async () => (await fetch(`${server.url}/readyz`)).status === 503);
    process.kill(server.pid, 'SIGINT');
    expect((await server.finished).status).toBe(130);
    await eventually('its program ends with it', () => processesWith(long).length === 0);
    expect((await command.run(['prune'])).status).toBe(0);
    expect(tracesOf(server.pid)).toEqual(NO_TRACES);
  });

  it('leaves nothing that the next one does not remove when it is killed', async () => {
    const { secret } = await makeKey('execute');
    const server = await startServing();
    const long = uniqueSleep();
    const { json } = await server.ask('POST', '/v1/sandboxes', secret, {});
    server
      .ask('POST', `/v1/sandboxes/${json.sandbox_id}/executions`, secret, { command: ['sleep', long] })
      .catch(() => {});
    await eventually('it runs', () => processesWith(long).length > 0);
    process.kill(server.pid, 'SIGKILL');
    await server.finished;
    expect(tracesOf(server.pid)).not.toEqual(NO_TRACES);
    const next = await startServing();
    expect([processesWith(long), tracesOf(server.pid)]).toEqual([[], NO_TRACES]);
    expect(JSON.parse(readFileSync(stateFile(command), 'utf8')).pid).toBe(next.pid);
    process.kill(next.pid, 'SIGTERM');
    expect((await next.finished).status).toBe(0);
  });

  it('is reached by nobody beyond this machine without a key, unless that is said loudly', async () => {
    const refused = await command.run(['serve', '--host', '0.0.0.0', '--port', '0'], { env: SETTINGS });
    expect([refused.status, refused.stdout]).toEqual([125, '']);
    expect(refused.stderr).toContain('no key is stored that holds');
    const server = await startServing('--insecure-no-authentication');
    const taken = await command.run(['serve', '--port', new URL(server.url).port], { env: SETTINGS });
    expect([taken.status, taken.stdout]).toEqual([125, '']);
    expect(taken.stderr).toContain('something else listens there');
    expect(JSON.parse(readFileSync(stateFile(command), 'utf8')).pid).toBe(server.pid);
    const { json } = await server.ask('POST', '/v1/executions', 'anything', { code: 'print(1)' });
    expect(json.stdout).toBe('1\n');
    process.kill(server.pid, 'SIGTERM');
    const { stderr } = await server.finished;
    expect(stderr).toContain('NOBODY IS ASKED FOR A KEY');
  });

  it('prints two keys where none is stored: one runs code, the other one approves', async () => {
    const server = await startServing();
    expect((await server.ask('POST', '/v1/executions', 'gbx_wrong', { code: 'print(1)' })).status).toBe(401);
    process.kill(server.pid, 'SIGTERM');
    const { stderr, stdout } = await server.finished;
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\n$/);
    expect(stderr).toMatch(
      / {2}to run code: gbx_\S{43}\n {2}to approve, and to read the record: gbx_\S{43}\n/,
    );
  });

  it('sends a span for each request and each execution where traces are collected', async () => {
    const spans: Json[] = [];
    const collector = createServer((request, response) => {
      void json(request).then((body: Json) => {
        const all = body.resourceSpans.flatMap((resource: Json) => resource.scopeSpans);
        spans.push(...all.flatMap((scope: Json) => scope.spans));
        response.end('{}');
      });
    });
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void collector.close());
    const { secret } = await makeKey('execute');
    const { port } = collector.address() as AddressInfo;
    const server = await startServing({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
    await server.ask('POST', '/v1/executions', secret, { code: 'print("hidden")' });
    process.kill(server.pid, 'SIGTERM');
    expect((await server.finished).status).toBe(0);
    const request = spans.find(({ name }) => name === 'POST /v1/executions');
    const execution = spans.find(({ name }) => name === 'execution');
    expect([execution.traceId, execution.parentSpanId]).toEqual([request.traceId, request.spanId]);
    expect(request.attributes).toContainEqual({
      ...{ key: 'http.response.status_code', value: { intValue: 200 } },
    });
    expect(JSON.stringify(spans)).not.toMatch(new RegExp(`hidden|${secret}`));
  });
});
