import { type IncomingHttpHeaders, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { Hono } from 'hono';
import { validator } from 'hono/validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SandboxError } from '../errors.ts';
import { errorHandler, noSuchRoute } from './errors.ts';
import { guards, jsonOnly, limitBody } from './guard.ts';
import { type Listening, listen } from './listen.ts';

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

const unexpected: unknown[] = [];
let wasRead = (): void => {};
let server: Listening;

beforeAll(async () => {
  const app = new Hono();
  const onUnexpected = (error: unknown) => unexpected.push(error);
  app.use(
    ...guards({ allowedHosts: ['box.example.org', 'Lab:81'], allowedOrigins: ['https://tool.example'] }),
  );
  app.onError(errorHandler(onUnexpected));
  app.notFound(noSuchRoute);
  app.use(jsonOnly((path) => (path === '/bytes' ? 'application/octet-stream' : undefined)));
  app.use(limitBody(20));
  app.get('/', (context) => context.json({ host: context.req.header('host') }));
  app.post(
    '/',
    validator('json', (value) => value),
    (context) => context.json(context.req.valid('json')),
  );
  app.post('/read', async (context) => {
    try {
      return context.text(await context.req.text());
    } finally {
      wasRead();
    }
  });
  app.post('/bytes', async (context) => context.json({ size: (await context.req.arrayBuffer()).byteLength }));
  app.get('/own', (context) => {
    context.header('content-security-policy', "default-src 'self'");
    return context.body('', 200, { 'cache-control': 'max-age=60' });
  });
  app.get('/bug', () => {
    throw new Error('password=hunter2 in /root/secret.ts');
  });
  app.get('/quota', () => {
    throw new SandboxError('QUOTA_EXCEEDED', 'Too much.', {
      hint: 'Wait.',
      details: { retry_after_sec: 1.2 },
    });
  });
  server = await listen((asked, env) => app.fetch(asked, env), { host: '127.0.0.1', port: 0, onUnexpected });
});
afterAll(() => server.close({ graceSec: 0 }));

/** Without `fetch`, which sets some of these headers itself. */
function ask(
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | readonly string[] } = {},
): Promise<Answer> {
  const { method = 'GET', headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { method, headers, agent: false }, (response) => {
      const { statusCode: status, headers: answered } = response;
      json(response).then(
        (content) => resolve({ status, headers: answered, body: content }),
        () => resolve({ status, headers: answered, body: undefined }),
      );
    });
    sent.once('error', reject);
    for (const part of typeof body === 'string' ? [] : (body ?? [])) sent.write(part);
    sent.end(typeof body === 'string' ? body : undefined);
  });
}

const forbidden = (message: string) => ({
  status: 403,
  body: { error: { code: 'FORBIDDEN', message, hint: expect.stringContaining('--allow-'), details: {} } },
});

describe('the name that a server is asked for by', () => {
  const own = (host: string) => `${host}:${server.port}`;

  it.each(['127.0.0.1', 'localhost', 'LocalHost', '[::1]'])('is answered: %s with its port', async (name) => {
    const host = own(name);
    expect(await ask('/', { headers: { host } })).toMatchObject({ status: 200, body: { host } });
  });

  it.each(['box.example.org', 'BOX.example.org:9', 'lab:81'])(
    'is answered where an operator allows it: %s',
    async (host) => {
      expect(await ask('/', { headers: { host } })).toMatchObject({ status: 200, body: { host } });
    },
  );

  it.each([
    'evil.example',
    'box.example.org.evil.example',
    'lab',
    'lab:82',
    'localhost',
    'localhost:1',
    '127.0.0.1',
    '127.0.0.2:81',
  ])('is refused: %s', async (host) => {
    expect(await ask('/', { headers: { host } })).toMatchObject(
      forbidden(`This server is not called "${host}".`),
    );
  });

  it.each([
    'evil.example',
    'localhost.evil.example',
    'localhost.',
    '127.0.0.1.nip.io',
    '0.0.0.0',
    '192.168.0.1',
  ])('is refused with the right port: %s', async (name) => {
    expect((await ask('/', { headers: { host: own(name) } })).status).toBe(403);
  });

  it('is refused where there are two of them, or the request line names another', async () => {
    const statusOf = (path: string, ...hosts: readonly string[]) =>
      new Promise((resolve, reject) => {
        const headers = hosts.flatMap((host) => ['host', host]);
        const options = { host: '127.0.0.1', port: server.port, agent: false, path, headers };
        request(options, (response) => resolve(response.resume().statusCode))
          .once('error', reject)
          .end();
      });
    expect(await statusOf('/', own('localhost'))).toBe(200);
    expect(await statusOf('/', own('localhost'), 'evil.example')).toBe(403);
    expect(await statusOf('/', 'evil.example', own('localhost'))).toBe(403);
    expect(await statusOf(`http://${own('localhost')}/`, own('localhost'))).toBe(200);
    expect(await statusOf(`http://evil.example:${server.port}/`, own('localhost'))).toBe(403);
    expect(await statusOf('/', own('local host'))).toBe(400);
  });
});

describe('the page that asks', () => {
  it('may be of the server itself, of an allowed name, or of an allowed origin', async () => {
    const origins = [
      `http://127.0.0.1:${server.port}`,
      `http://localhost:${server.port}`,
      'https://box.example.org',
      'https://tool.example',
    ];
    const answers = await Promise.all(origins.map((origin) => ask('/', { headers: { origin } })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const { headers } of answers) expect(headers).not.toHaveProperty('access-control-allow-origin');
  });

  it.each([
    'null',
    '',
    'https://evil.example',
    'http://tool.example',
    'https://tool.example.evil.example',
    'http://localhost',
    'http://localhost:1',
    'file://localhost',
    'http://evil.example@localhost',
  ])('is refused: %j', async (origin) => {
    expect(await ask('/', { headers: { origin } })).toMatchObject(
      forbidden(`Pages of ${JSON.stringify(origin)} may not use this server.`),
    );
  });

  it('is refused where it is of the right name without the right scheme, and before the request that asks for leave', async () => {
    const https = `https://localhost:${server.port}`;
    expect((await ask('/', { headers: { origin: https } })).status).toBe(403);
    const preflight = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    const { status, headers } = await ask('/', { method: 'OPTIONS', headers: preflight });
    expect(status).toBe(403);
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('a body', () => {
  const post = (type: string | undefined, body: string | readonly string[], path = '/') =>
    ask(path, { method: 'POST', body, headers: type === undefined ? {} : { 'content-type': type } });

  it('is taken as JSON, or as what its path is for', async () => {
    expect(await post('application/json', '{"a":1}')).toMatchObject({ status: 200, body: { a: 1 } });
    expect(await post('Application/JSON; charset=utf-8', ['{"a"', ':1}'])).toMatchObject({ status: 200 });
    expect(await post('application/octet-stream', 'abc', '/bytes')).toMatchObject({ body: { size: 3 } });
    expect(await ask('/bytes', { method: 'POST' })).toMatchObject({ body: { size: 0 } });
  });

  it.each([
    [undefined, '/'],
    ['text/plain', '/'],
    ['text/plain; application/json', '/'],
    ['application/x-www-form-urlencoded', '/'],
    ['multipart/form-data; boundary=x', '/'],
    ['application/jsonp', '/'],
    ['application/json', '/bytes'],
  ])('is refused as %s at %s', async (type, path) => {
    for (const body of ['{"a":1}', ['{"a":', '1}']]) {
      expect(await post(type, body, path)).toMatchObject({
        status: 415,
        body: { error: { code: 'INPUT_INVALID' } },
      });
    }
  });

  it('is refused above its size, whether it says so or not', async () => {
    const large = JSON.stringify({ a: 'x'.repeat(20) });
    const refused = {
      status: 413,
      body: {
        error: {
          code: 'INPUT_INVALID',
          message: 'The body has more than 20 bytes.',
          details: { max_bytes: 20 },
        },
      },
    };
    expect(await post('application/json', large)).toMatchObject(refused);
    expect(await post('application/json', [large.slice(0, 5), large.slice(5)])).toMatchObject(refused);
  });

  it('that is no JSON is told as the client it is from would have to know', async () => {
    unexpected.length = 0;
    expect(await post('application/json', '{')).toMatchObject({
      status: 400,
      body: { error: { code: 'INPUT_INVALID' } },
    });
    expect(unexpected).toEqual([]);
  });
});

describe('an answer', () => {
  const SAFE = {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
  };

  it('is safe in a browser, also where it is an error', async () => {
    const answers = await Promise.all([
      ask('/'),
      ask('/none'),
      ask('/bug'),
      ask('/', { headers: { origin: 'null' } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 500, 403]);
    for (const { headers } of answers) expect(headers).toMatchObject(SAFE);
    expect((await ask('/own')).headers).toMatchObject({
      'content-security-policy': "default-src 'self'",
      'cache-control': 'max-age=60',
      'x-content-type-options': 'nosniff',
    });
  });

  it('to a path that nothing is at says so', async () => {
    expect(await ask('/none')).toMatchObject({ status: 404, body: { error: { code: 'INPUT_INVALID' } } });
  });

  it('tells nothing of a bug, which the log is told', async () => {
    unexpected.length = 0;
    const { status, body } = await ask('/bug');
    expect({ status, body }).toEqual({
      status: 500,
      body: {
        error: {
          code: 'SANDBOX_FAILED',
          message: 'Something unexpected happened in the server.',
          hint: expect.any(String),
          details: {},
        },
      },
    });
    expect(unexpected).toEqual([new Error('password=hunter2 in /root/secret.ts')]);
  });

  it('that nobody waits for any more is no bug', async () => {
    unexpected.length = 0;
    const read = new Promise<void>((resolve) => {
      wasRead = resolve;
    });
    const headers = { 'content-type': 'application/json', 'content-length': '9' };
    const sent = request(`${server.url}/read`, { method: 'POST', headers, agent: false }).on(
      'error',
      () => {},
    );
    sent.write('1234', () => sent.destroy());
    await read;
    await expect(ask('/bug')).resolves.toMatchObject({ status: 500 });
    expect(unexpected).toEqual([new Error('password=hunter2 in /root/secret.ts')]);
  });

  it('says when to come again', async () => {
    expect(await ask('/quota')).toMatchObject({ status: 429, headers: { 'retry-after': '2' } });
  });
});
