/** What is sent again because its answer was lost: it is done once. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../e2e/support/needs.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Answer,
  type Asking,
  type Json,
  type KeyName,
  startTestServer,
  type TestServer,
} from './support.ts';

describeWith(['bubblewrap'], 'a request that comes again', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer({ env: { SANDBOX_GATE: 'trusted', SANDBOX_MAX_OUTPUT_KB: '2000' } });
  });
  afterAll(() => server.close());

  const post = (path: string, key: string, json: unknown = {}, asking: Asking = {}): Promise<Answer> =>
    server.ask('POST', path, { json, headers: { 'idempotency-key': key }, ...asking });

  const listed = async (key: KeyName): Promise<string[]> =>
    (await server.ask('GET', '/v1/sandboxes', { key })).json.sandboxes.map((one: Json) => one.sandbox_id);

  it('makes one sandbox of one key, for each caller, and says that it knows the key', async () => {
    const first = await post('/v1/sandboxes', 'a');
    const again = await post('/v1/sandboxes', 'a');
    expect([first.status, first.headers.get('idempotency-key')]).toEqual([201, 'a']);
    expect([again.status, again.headers.get('idempotency-key'), again.json]).toEqual([201, 'a', first.json]);
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    const others = await post('/v1/sandboxes', 'a', {}, { key: 'other' });
    expect([await listed('one'), await listed('other')]).toEqual([
      [first.json.sandbox_id],
      [others.json.sandbox_id],
    ]);
    const next = await post('/v1/sandboxes', 'b');
    expect(await listed('one')).toEqual([first.json.sandbox_id, next.json.sandbox_id]);
    const without = await server.ask('POST', '/v1/sandboxes', { json: {} });
    expect([without.status, without.headers.get('idempotency-key')]).toEqual([201, null]);
    for (const id of await listed('one')) await server.ask('DELETE', `/v1/sandboxes/${id}`);
  });

  it('goes on with what was begun when whoever asked has gone, and whoever asks again hears of it', async () => {
    const [box = '', other = ''] = await Promise.all(
      ['one', 'other'].map(
        async (key) => `/v1/sandboxes/${(await post('/v1/sandboxes', key)).json.sandbox_id}`,
      ),
    );
    const runs = (place: string) => async (): Promise<boolean> =>
      (await server.ask('GET', `${place}/files/content?path=runs`)).status === 200;
    const script = 'echo once >> runs; until [ -e go ]; do sleep 0.02; done; cat runs';
    const run = (place: string, key: string | undefined, signal?: AbortSignal): Promise<Answer> =>
      server.ask('POST', `${place}/executions`, {
        ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
        ...(signal === undefined ? {} : { signal }),
        json: { command: ['bash', '-c', script], timeout: 30 },
      });
    const gone = new AbortController();
    const kept = run(box, 'kept', gone.signal);
    await eventually('the first runs', runs(box));
    const lost = [kept, run(other, undefined, gone.signal)];
    await eventually('the second runs', runs(other));
    gone.abort();
    expect((await Promise.allSettled(lost)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const states = async (): Promise<string[]> =>
      (await server.ask('GET', '/v1/executions')).json.executions.map((one: Json) => one.state);
    await eventually('what has no key is cancelled', async () => (await states()).includes('ended'));
    const joined = run(box, 'kept');
    expect(await states()).toEqual(['running', 'ended']);
    await server.ask('PUT', `${box}/files/content?path=go`, { bytes: Buffer.from('') });
    const answer = await joined;
    expect(answer.json).toMatchObject({ outcome: 'exited', stdout: 'once\n' });
    const again = await run(box, 'kept');
    expect(again.text).toBe(answer.text);
    expect(again.headers.get('location')).toBe(`/v1/executions/${answer.json.meta.execution_id}`);
    // It is ended by whoever wants that.
    const cancelled = run(other, 'cancelled');
    await eventually('the third runs', async () => (await states()).at(-1) === 'running');
    const { executions } = (await server.ask('GET', '/v1/executions')).json;
    await server.ask('DELETE', `/v1/executions/${executions.at(-1).execution_id}`);
    expect((await cancelled).json.outcome).toBe('cancelled');
    for (const place of [box, other]) await server.ask('DELETE', place);
  });

  it('refuses a key that is none, and one of another request', async () => {
    const path = '/v1/executions';
    const program = { code: 'print(1)' };
    const first = await post(path, 'one-request', program);
    expect([first.status, first.json.stdout]).toEqual([200, '1\n']);
    const before = (await server.ask('GET', path)).json.executions.length;
    const refused = await Promise.all([
      post(path, 'one-request', { code: 'print(2)' }),
      post(`${path}?wait=true`, 'one-request', program),
      post('/v1/sandboxes', 'one-request', program),
      post(path, 'two words', program),
      post(path, '', program),
      post(path, 'é', program),
      post(path, 'x'.repeat(256), program),
    ]);
    for (const { status, json } of refused) {
      expect([status, json.error.code, json.error.details]).toEqual([
        ...[400, 'INPUT_INVALID', { in: 'headers', path: 'idempotency-key' }],
      ]);
    }
    expect((await server.ask('GET', path)).json.executions.length).toBe(before);
    expect((await post(path, `!${'~'.repeat(254)}`, program)).status).toBe(200);
    // Who nobody is hears nothing of anything.
    expect((await post(path, 'one-request', program, { key: null })).status).toBe(401);
  });

  it('keeps no answer that says to come again, and tells what was done while it ends', async () => {
    const small: Asking = { key: 'small' };
    const { sandbox_id } = (await post('/v1/sandboxes', 'first', {}, small)).json;
    expect((await post('/v1/sandboxes', 'second', {}, small)).status).toBe(429);
    expect((await post('/v1/sandboxes', 'first', {}, small)).json.sandbox_id).toBe(sandbox_id);
    await server.ask('DELETE', `/v1/sandboxes/${sandbox_id}`, small);
    const second = await post('/v1/sandboxes', 'second', {}, small);
    expect(second.status).toBe(201);
    const { life } = server.server.parts;
    life.isDraining = true;
    const told = await post('/v1/sandboxes', 'second', {}, small);
    const refused = await post('/v1/executions', 'later', { code: 'print(1)' });
    life.isDraining = false;
    expect([told.json, refused.status, refused.headers.get('idempotency-key')]).toEqual([
      ...[second.json, 503, 'later'],
    ]);
    expect((await post('/v1/executions', 'later', { code: 'print(1)' })).status).toBe(200);
    await server.ask('DELETE', `/v1/sandboxes/${second.json.sandbox_id}`, small);
  });

  it('says where to look instead of keeping a long answer', async () => {
    const program = { code: 'print("x" * 1_000_000)' };
    const first = await post('/v1/executions', 'long', program);
    expect(first.json.stdout.length).toBe(1_000_001);
    const again = await post('/v1/executions', 'long', program);
    const location = `/v1/executions/${first.json.meta.execution_id}`;
    expect([again.status, again.json.error.details]).toEqual([409, { location }]);
    expect((await server.ask('GET', location)).json.result).toEqual(first.json);
  });

  it('makes what a dry run became count once', async () => {
    const box = `/v1/sandboxes/${(await server.ask('POST', '/v1/sandboxes', { json: {} })).json.sandbox_id}`;
    const tried = { command: ['touch', 'new'] };
    const run = await post(`${box}/dry-runs`, 'tried', tried);
    expect((await post(`${box}/dry-runs`, 'tried', tried)).json).toEqual(run.json);
    const path = `${box}/dry-runs/${run.json.dry_run_id}/commit`;
    const commits = [await post(path, 'commit'), await post(path, 'commit'), await post(path, 'another')];
    expect(commits.map(({ status }) => status)).toEqual([200, 200, 404]);
    await server.ask('DELETE', box);
  });

  it('is in the document for every request that begins something for who runs code', async () => {
    const { paths } = (await server.ask('GET', '/openapi.json', { key: null })).json;
    const told = Object.entries<Json>(paths).flatMap(([path, methods]) =>
      Object.entries<Json>(methods)
        .filter(([, { parameters = [] }]) => parameters.some((one: Json) => one.name === 'idempotency-key'))
        .map(([method, { parameters }]) => [
          `${method} ${path}`,
          parameters.find((one: Json) => one.name === 'idempotency-key').in,
        ]),
    );
    const posts = Object.keys(paths).filter((path) => 'post' in paths[path] && !path.includes('approvals'));
    expect(told.sort()).toEqual(posts.map((path) => [`post ${path}`, 'header']).sort());
    expect(posts).toContain('/v1/sandboxes/{id}/contexts/{context}/interrupt');
  });
});
