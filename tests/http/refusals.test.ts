/** What is refused, with which status, and that the server goes on afterwards. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWith } from '../e2e/support/needs.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/traces.ts';
import {
  type Asking,
  type Json,
  type KeyName,
  startTestServer,
  type TestServer,
  untilState,
} from './support.ts';

describeWith(['bubblewrap'], 'what a server refuses', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer({
      limits: { maxExecutions: 2, maxQueue: 2, fileBytes: 1024 * 1024, bodyBytes: 2 * 1024 * 1024 },
    });
  });
  afterAll(() => server.close());

  /** The status and the code of an answer. */
  async function refusal(method: string, path: string, asking?: Asking): Promise<readonly [number, string]> {
    const { status, json } = await server.ask(method, path, asking);
    return [status, json?.error?.code];
  }

  const works = async (): Promise<void> => {
    const { status, json } = await server.ask('POST', '/v1/executions', { json: { code: 'print(1)' } });
    expect([status, json.stdout]).toEqual([200, '1\n']);
  };

  const run = (code: string, key: KeyName = 'one') =>
    server.ask('POST', '/v1/executions?wait=false', { key, json: { code, timeout: 30 } });

  const SLEEP = 'import time; time.sleep(30)';

  describe('the bytes that a key may carry', () => {
    const code = 'open("f", "w").write("x" * 2000)';
    it.each<[string, KeyName, Json]>([
      ['are files and input', 'lightIn', { code: '0', stdin: 'x'.repeat(2000) }],
      ['are files that are brought back', 'lightOut', { code, collect: ['f'] }],
    ])('%s', async (_, key, json) => {
      expect((await server.ask('POST', '/v1/executions', { key, json })).status).toBe(200);
      const again = await server.ask('POST', '/v1/executions', { key, json: { code: '0' } });
      expect([again.status, again.json.error?.details.quota]).toEqual([429, 'bytes_per_hour']);
    });
  });

  describe('whoever asks', () => {
    it('needs a key that holds, and says so as the standard has it', async () => {
      const answers = await Promise.all(
        [null, 'nobody' as KeyName].map((key) => server.ask('GET', '/v1/sandboxes', { key })),
      );
      for (const { status, headers, json } of answers) {
        expect([status, headers.get('www-authenticate'), json.error.code]).toEqual([
          ...[401, 'Bearer', 'UNAUTHENTICATED'],
        ]);
      }
      const basic = { authorization: `Basic ${Buffer.from('one:one').toString('base64')}` };
      expect(await refusal('GET', '/v1/sandboxes', { key: null, headers: basic })).toEqual([
        ...[401, 'UNAUTHENTICATED'],
      ]);
    });

    it.each<[string, KeyName]>([
      ['POST /v1/executions', 'operator'],
      ['GET /v1/approvals', 'one'],
      ['GET /v1/audit', 'both'],
      ['GET /metrics', 'both'],
    ])('does not get %s with a key for something else', async (route, key) => {
      const [method = '', path = ''] = route.split(' ');
      const asking = method === 'POST' ? { key, json: { code: '1' } } : { key };
      expect(await refusal(method, path, asking)).toEqual([403, 'FORBIDDEN']);
    });

    it('does not answer what the same key has asked; another key does', async () => {
      const code = 'import shutil; shutil.rmtree("/srv/nothing-of-this-name")';
      const asked = server.ask('POST', '/v1/executions', { key: 'both', json: { code } });
      const waiting = async () =>
        (await server.ask('GET', '/v1/approvals', { key: 'operator' })).json.questions;
      await eventually('the question waits', async () => (await waiting()).length === 1);
      const [{ id, hash }] = await waiting();
      const yes = { json: { hash, approved: true } };
      expect(await refusal('POST', `/v1/approvals/${id}`, { key: 'both', ...yes })).toEqual([
        403,
        'FORBIDDEN',
      ]);
      const wrong = { json: { hash: hash.replace(/^./, hash[0] === '0' ? '1' : '0'), approved: true } };
      expect(await refusal('POST', `/v1/approvals/${id}`, { key: 'operator', ...wrong })).toEqual([
        ...[410, 'APPROVAL_EXPIRED'],
      ]);
      expect((await waiting()).length).toBe(1);
      const no = { json: { hash, approved: false, reason: 'Not today.' } };
      expect((await server.ask('POST', `/v1/approvals/${id}`, { key: 'operator', ...no })).status).toBe(204);
      const { json } = await asked;
      expect([json.outcome, json.exit_code]).toEqual(['denied', 1]);
      expect(json.stderr).toContain('Not today.');
    });

    it('has its own sandboxes and executions alone', async () => {
      const { sandbox_id } = (await server.ask('POST', '/v1/sandboxes', { json: {} })).json;
      const box = `/v1/sandboxes/${sandbox_id}`;
      const { execution_id } = (await server.ask('POST', `${box}/executions`, { json: { code: 'print(1)' } }))
        .json.meta;
      const job = { json: { code: '1' } };
      const bytes = { bytes: Buffer.from('x') };
      const asked: [string, string, Asking?][] = [
        ['GET', box],
        ['DELETE', box],
        ['POST', `${box}/executions`, job],
        ['POST', `${box}/packages`, { json: { package: 'x' } }],
        ['POST', `${box}/contexts`, { json: {} }],
        ['POST', `${box}/processes`, job],
        ['POST', `${box}/dry-runs`, job],
        ['GET', `${box}/processes`],
        ['GET', `${box}/files`],
        ['DELETE', `${box}/files?path=x`],
        ['GET', `${box}/files/content?path=x`],
        ['PUT', `${box}/files/content?path=x`, bytes],
        ['GET', `${box}/archive`],
        ['PUT', `${box}/archive`, { ...bytes, type: 'application/x-tar' }],
        ['GET', `/v1/executions/${execution_id}`],
        ['GET', `/v1/executions/${execution_id}/events`],
        ['GET', `/v1/executions/${execution_id}/output`],
        ['DELETE', `/v1/executions/${execution_id}`],
      ];
      for (const [method, path, asking = {}] of asked) {
        const [status] = await refusal(method, path, { ...asking, key: 'other' });
        expect([method, path, status]).toEqual([method, path, 404]);
      }
      expect((await server.ask('GET', '/v1/sandboxes', { key: 'other' })).json).toEqual({ sandboxes: [] });
      expect((await server.ask('GET', '/v1/executions', { key: 'other' })).json).toEqual({ executions: [] });
      expect((await server.ask('GET', `/v1/executions/${execution_id}`)).status).toBe(200);
      expect((await server.ask('DELETE', box)).status).toBe(204);
    });

    it('is told when it has used up what it may', async () => {
      const first = await server.ask('POST', '/v1/executions', { key: 'small', json: { code: 'print(1)' } });
      expect(first.status).toBe(200);
      const second = await server.ask('POST', '/v1/executions', { key: 'small', json: { code: 'print(1)' } });
      expect([second.status, second.json.error.code]).toEqual([429, 'QUOTA_EXCEEDED']);
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
      const { sandbox_id } = (await server.ask('POST', '/v1/sandboxes', { key: 'small', json: {} })).json;
      // A context runs a program as well.
      const contexts = `/v1/sandboxes/${sandbox_id}/contexts`;
      expect(await refusal('POST', contexts, { key: 'small', json: {} })).toEqual([429, 'QUOTA_EXCEEDED']);
      expect(await refusal('POST', '/v1/sandboxes', { key: 'small', json: {} })).toEqual([
        ...[429, 'QUOTA_EXCEEDED'],
      ]);
      await server.ask('DELETE', `/v1/sandboxes/${sandbox_id}`, { key: 'small' });
    });

    it('waits for a place, and is turned away with a time to come again when there is none', async () => {
      const ids = [];
      for (let i = 0; i < 3; i++) ids.push((await run(SLEEP)).json.execution_id);
      const full = await run(SLEEP);
      expect([full.status, full.json.error.code]).toEqual([429, 'QUOTA_EXCEEDED']);
      expect(full.headers.get('retry-after')).toBe('1');
      // The other half of the queue is for others.
      const other = await run('print("other")', 'other');
      expect(other.status).toBe(202);
      expect(await refusal('POST', '/v1/executions', { key: 'both', json: { code: '1' } })).toEqual([
        ...[429, 'QUOTA_EXCEEDED'],
      ]);
      const [first] = ids;
      await server.ask('DELETE', `/v1/executions/${first}`);
      const events = await server.ask('GET', `/v1/executions/${other.json.execution_id}/events`, {
        key: 'other',
      });
      expect(events.text).toContain('"outcome":"exited"');
      for (const id of ids) await server.ask('DELETE', `/v1/executions/${id}`);
      for (const id of ids) await untilState(server, id, 'ended');
      const { result } = (await server.ask('GET', `/v1/executions/${ids[2]}`)).json;
      expect([result.outcome, result.exit_code]).toEqual(['cancelled', 130]);
    });

    it('does not keep others from running while it waits for a person', async () => {
      const code = 'import shutil; shutil.rmtree("/srv/nothing-of-this-name")';
      const ids: string[] = [];
      for (let i = 0; i < 2; i++) ids.push((await run(`${code}  # ${i}`)).json.execution_id);
      const waiting = async () =>
        (await server.ask('GET', '/v1/approvals', { key: 'operator' })).json.questions;
      await eventually('both questions wait', async () => (await waiting()).length === 2);
      await works();
      for (const id of ids) await server.ask('DELETE', `/v1/executions/${id}`);
      for (const id of ids) await untilState(server, id, 'ended');
      expect(await waiting()).toEqual([]);
    });

    it('cancels by going away, and what was not waited for goes on', async () => {
      const mark = randomBytes(8).toString('hex');
      const code = `import time  # ${mark}\nprint("on", flush=True)\ntime.sleep(30)`;
      const gone = new AbortController();
      const waiting = server.ask('POST', '/v1/executions', {
        ...{
          json: { command: ['sleep', `30.${Number.parseInt(mark.slice(0, 8), 16)}`] },
          signal: gone.signal,
        },
      });
      const sleeps = () => processesWith(`30.${Number.parseInt(mark.slice(0, 8), 16)}`).length;
      await eventually('it runs', () => sleeps() > 0);
      const { execution_id } = (await run(code)).json;
      gone.abort();
      await expect(waiting).rejects.toThrow();
      await eventually('it is ended', () => sleeps() === 0);
      await untilState(server, execution_id, 'running');
      await server.ask('DELETE', `/v1/executions/${execution_id}`);
      await untilState(server, execution_id, 'ended');
    });
  });

  describe('what is sent', () => {
    const at = '/v1/executions';
    const JSON_TYPE = { 'content-type': 'application/json' };

    it.each<[string, Asking & { readonly text?: string }, number]>([
      ['no JSON', { bytes: Buffer.from('{"code":'), type: 'application/json' }, 400],
      ['JSON of another kind', { json: [] }, 400],
      ['nothing', { headers: JSON_TYPE }, 400],
      ['an unknown member', { json: { code: '1', cod: '2' } }, 400],
      ['a member of another type', { json: { code: 1 } }, 400],
      ['neither code nor a command', { json: {} }, 400],
      ['both code and a command', { json: { code: '1', command: ['ls'] } }, 400],
      ['base64 that is none', { json: { code_base64: '*' } }, 400],
      ['a negative timeout', { json: { code: '1', timeout: -1 } }, 400],
      ['a variable that has no name', { json: { code: '1', env: { 'a b': '' } } }, 400],
      ['a file outside of the workspace', { json: { code: '1', files: { '../x': { content: '' } } } }, 400],
      ['an unknown language', { json: { code: '1', language: 'cobol' } }, 400],
      ['a form', { bytes: Buffer.from('code=1'), type: 'application/x-www-form-urlencoded' }, 415],
      ['plain text', { bytes: Buffer.from('{"code":"1"}'), type: 'text/plain' }, 415],
      ['more than may be sent', { json: { code: `#${'x'.repeat(2 * 1024 * 1024)}` } }, 413],
      ['a wish that no runtime here can hold', { json: { code: '1', min_isolation: 'machine' } }, 422],
    ])('is refused where it is %s', async (_, asking, status) => {
      const answer = await server.ask('POST', at, asking);
      expect([answer.status, typeof answer.json?.error?.hint]).toEqual([status, 'string']);
    });

    it('is refused where the query has a parameter that there is not', async () => {
      expect(await refusal('POST', `${at}?wiat=false`, { json: { code: '1' } })).toEqual([
        400,
        'INPUT_INVALID',
      ]);
      expect(await refusal('GET', '/v1/sandboxes/..%2f..%2fetc')).toEqual([404, 'SANDBOX_NOT_FOUND']);
      expect(await refusal('GET', '/v1/nothing')).toEqual([404, 'INPUT_INVALID']);
    });

    it('never comes back in an error, where it may be a secret', async () => {
      const { text } = await server.ask('POST', at, { json: { code: '1', env: { A: 'secret\0value' } } });
      expect(text).toContain('env.A');
      expect(text).not.toContain('secret');
      expect(server.log.join('\n')).not.toContain('secret');
    });

    it('is of the type that its route takes, where that is no JSON or nothing', async () => {
      const { sandbox_id } = (await server.ask('POST', '/v1/sandboxes', { json: {} })).json;
      const box = `/v1/sandboxes/${sandbox_id}`;
      const bytes = Buffer.from('x');
      const types: readonly [string, string, string, number][] = [
        ['PUT', `${box}/files/content?path=a`, 'application/octet-stream', 200],
        ['PUT', `${box}/files/content?path=a`, 'text/plain', 415],
        ['PUT', `${box}/files/content?path=a`, 'application/json', 415],
        ['PUT', `${box}/archive`, 'application/octet-stream', 415],
        ['POST', `${box}/dry-runs/none/commit`, 'application/x-www-form-urlencoded', 415],
      ];
      for (const [method, path, type, status] of types) {
        const answer = await server.ask(method, path, { bytes, type });
        expect([path, type, answer.status]).toEqual([path, type, status]);
      }
      await server.ask('DELETE', box);
    });

    it('takes no more memory at a time than there is for all of it', async () => {
      const small = await startTestServer({ limits: { bodiesBytes: 100_000 } });
      const held = new AbortController();
      const slow = request({
        ...{ port: small.server.port, path: '/v1/executions', method: 'POST', signal: held.signal },
        headers: {
          ...{ authorization: 'Bearer one', 'content-type': 'application/json' },
          ...{ 'content-length': 90_000, expect: '100-continue' },
        },
      });
      slow.on('error', () => {});
      slow.flushHeaders();
      await once(slow, 'continue');
      const json = { code: `#${'x'.repeat(20_000)}` };
      const tried = () => small.ask('POST', '/v1/executions', { json });
      const refused = await tried();
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
      held.abort();
      await eventually('there is room again', async () => (await tried()).status === 200);
      await small.close();
    });

    it('counts as held as long as what it began goes on, and one key leaves room for others', async () => {
      const small = await startTestServer({ limits: { bodiesBytes: 100_000, maxExecutions: 1 } });
      const filled = (size: number, code = '0') => ({ code, stdin: 'x'.repeat(size) });
      const post = (size: number, key: KeyName, code?: string) =>
        small.ask('POST', '/v1/executions?wait=false', { key, json: filled(size, code) });
      const first = await post(40_000, 'one', SLEEP);
      const statuses = [
        (await post(30_000, 'one')).status,
        (await post(30_000, 'other')).status,
        (await post(1000, 'other')).status,
      ];
      expect([first.status, ...statuses]).toEqual([202, 429, 202, 429]);
      await small.ask('DELETE', `/v1/executions/${first.json.execution_id}`);
      await eventually('there is room again', async () => (await post(40_000, 'one')).status === 202);
      await small.close();
    });

    it('is not repeated in the answer, however long its names are', async () => {
      const long = 'x '.repeat(50_000);
      const bodies = [
        { code: '0', [long]: 1 },
        { code: '0', env: { [long]: '' } },
        { code: '0', files: { [`../${long}`]: { content: '' } } },
      ];
      for (const json of bodies) {
        const { status, text } = await server.ask('POST', '/v1/executions', { json });
        expect([status, text.length < 3000]).toEqual([400, true]);
      }
    });

    it('may not be larger than a file may be, however it is sent', async () => {
      const { sandbox_id } = (await server.ask('POST', '/v1/sandboxes', { json: {} })).json;
      const path = `/v1/sandboxes/${sandbox_id}/files/content?path=large`;
      expect((await server.ask('PUT', path, { bytes: new Uint8Array(1024 * 1024) })).status).toBe(200);
      expect(await refusal('PUT', path, { bytes: new Uint8Array(1024 * 1024 + 1) })).toEqual([
        ...[413, 'INPUT_INVALID'],
      ]);
      const { port } = server.server;
      const chunked = await new Promise<number>((resolve, reject) => {
        const sending = request({
          ...{ port, path, method: 'PUT' },
          headers: { authorization: 'Bearer one', 'content-type': 'application/octet-stream' },
        });
        sending.on('response', (response) => {
          resolve(response.statusCode ?? 0);
          sending.destroy();
        });
        sending.on('error', reject);
        for (let i = 0; i < 20; i++) sending.write(Buffer.alloc(100_000));
      });
      expect(chunked).toBe(413);
      const kept = await server.fetch('GET', path);
      expect((await kept.arrayBuffer()).byteLength).toBe(1024 * 1024);
      await server.ask('DELETE', `/v1/sandboxes/${sandbox_id}`);
    });

    it('is answered with what became of the sandbox, or of its files', async () => {
      const { sandbox_id } = (await server.ask('POST', '/v1/sandboxes', { json: { lifetime: 0.3 } })).json;
      const box = `/v1/sandboxes/${sandbox_id}`;
      await eventually('it has expired', async () => (await server.ask('GET', box)).status === 410);
      expect(await refusal('POST', `${box}/executions`, { json: { code: '1' } })).toEqual([
        ...[410, 'SANDBOX_CLOSED'],
      ]);
      expect((await server.ask('DELETE', box)).status).toBe(204);

      const live = `/v1/sandboxes/${(await server.ask('POST', '/v1/sandboxes', { json: {} })).json.sandbox_id}`;
      const tried = await server.ask('POST', `${live}/dry-runs`, { json: { command: ['touch', 'a'] } });
      await server.ask('PUT', `${live}/files/content?path=b`, { bytes: Buffer.from('b') });
      expect(await refusal('POST', `${live}/dry-runs/${tried.json.dry_run_id}/commit`)).toEqual([
        ...[409, 'WORKSPACE_CHANGED'],
      ]);
      expect(await refusal('GET', `${live}/files/content?path=none`)).toEqual([404, 'FILE_NOT_FOUND']);
      expect(await refusal('GET', `${live}/files/content?path=/etc/passwd`)).toEqual([
        ...[400, 'PATH_OUTSIDE_WORKSPACE'],
      ]);
      expect(await refusal('DELETE', `${live}/contexts/nothing`)).toEqual([404, 'INPUT_INVALID']);
      await server.ask('DELETE', live);
    });
  });

  describe('a connection', () => {
    /** Sends bytes as they are; resolves to what came back until the other side ends or an answer is there. */
    function raw(
      bytes: string | Buffer,
      isOver = (text: string) => text.includes('\r\n\r\n'),
    ): Promise<string> {
      return new Promise((resolve, reject) => {
        const socket = connect(server.server.port, '127.0.0.1', () => socket.write(bytes));
        let text = '';
        const end = (): void => {
          socket.destroy();
          resolve(text);
        };
        socket.on('data', (chunk) => {
          text += chunk.toString('latin1');
          if (isOver(text)) end();
        });
        socket.on('close', end);
        socket.on('error', (error: NodeJS.ErrnoException) => {
          if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
        });
      });
    }

    const head = (host: string, more = ''): string =>
      `GET /v1/sandboxes HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer one\r\n${more}\r\n`;

    it('names this server, and comes from no other page', async () => {
      const own = `127.0.0.1:${server.server.port}`;
      expect(await raw(head(own))).toMatch(/^HTTP\/1.1 200/);
      expect(await raw(head(own, `Origin: http://${own}\r\n`))).toMatch(/^HTTP\/1.1 200/);
      for (const foreign of [
        'evil.example',
        `evil.example:${server.server.port}`,
        `127.0.0.1.evil.example`,
      ]) {
        expect(await raw(head(foreign))).toMatch(/^HTTP\/1.1 403/);
      }
      for (const origin of ['http://evil.example', 'null', `http://evil.example:${server.server.port}`]) {
        const answer = await raw(head(own, `Origin: ${origin}\r\n`));
        expect(answer).toMatch(/^HTTP\/1.1 403/);
        expect(answer.toLowerCase()).not.toContain('access-control');
      }
    });

    it('that speaks no HTTP, or chunks that are none, ends, and others are served', async () => {
      const post = `POST /v1/executions HTTP/1.1\r\nHost: 127.0.0.1:${server.server.port}\r\nAuthorization: Bearer one\r\nContent-Type: application/json\r\n`;
      const broken = [
        '\0\0\0\0',
        'GET\r\n\r\n',
        `${post}Transfer-Encoding: chunked\r\n\r\nZZ\r\n{"code":\r\n0\r\n\r\n`,
        `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        `${post}Content-Length: 100000000000\r\n\r\n{`,
        `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n\r\n`,
      ];
      const answers = await Promise.all(broken.map((bytes) => raw(bytes, (text) => text.length > 12)));
      for (const answer of answers) expect(answer).toMatch(/^(HTTP\/1.1 4\d\d|$)/);
      // One that ends in the middle of a chunk.
      await new Promise<void>((resolve) => {
        const socket = connect(server.server.port, '127.0.0.1', () => {
          socket.end(`${post}Transfer-Encoding: chunked\r\n\r\n100\r\n{"code":`);
        });
        socket.on('close', () => resolve());
        socket.resume();
      });
      await works();
    });

    it('with 50 MB is refused before they are read, and others are served', async () => {
      const before = process.memoryUsage().rss;
      const { status } = await server.ask('POST', '/v1/executions', {
        ...{ bytes: Buffer.alloc(50 * 1024 * 1024, 'x'), type: 'application/json' },
      });
      expect(status).toBe(413);
      // What is sent is in this process too.
      expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024);
      await works();
    });

    it('of those that say nothing keeps nobody out', async () => {
      const sockets: Socket[] = [];
      const opened: Promise<unknown>[] = [];
      for (let i = 0; i < 1500; i++) {
        opened.push(
          new Promise((resolve) => {
            const socket = connect(server.server.port, '127.0.0.1', () => {
              socket.write('GET /healthz HTTP/1.1\r\nHost: ');
              resolve(undefined);
            });
            socket.on('error', resolve);
            socket.on('close', resolve);
            sockets.push(socket);
          }),
        );
      }
      await Promise.all(opened);
      await works();
      for (const socket of sockets) socket.destroy();
    });
  });
});
