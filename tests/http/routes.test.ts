/** Every route of the document is asked, and every answer is what the document says. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { describeWith } from '../e2e/support/needs.ts';
import { pythonIndex, serve, wheel } from '../support/packageIndexes.ts';
import { type Asking, type Json, startTestServer, type TestServer } from './support.ts';

describeWith(['bubblewrap'], 'the routes of a server', () => {
  let server: TestServer;
  let document: Json;

  beforeAll(async () => {
    // An archive that is carried in always needs a person otherwise.
    server = await startTestServer({ env: { SANDBOX_GATE: 'trusted' } });
    document = (await server.ask('GET', '/openapi.json', { key: null })).json;
  });
  afterAll(() => server.close());

  interface Call extends Asking {
    /** As the document has it. */
    readonly route: string;
    /** The same with its parameters filled in. */
    readonly path?: string;
    readonly status: number;
  }

  /** Code that a person should see first; it deletes nothing where it would run, either. */
  const DANGEROUS = 'import shutil; shutil.rmtree("/srv/nothing-of-this-name")';

  describe('the document', () => {
    it('is OpenAPI 3.1', async () => {
      const validator = new Validator();
      expect(await validator.validate(document)).toEqual({ valid: true });
      expect(validator.version).toBe('3.1');
    });

    it('names a scope for each route but those that everybody may ask, and the shape of errors for all', () => {
      const open: string[] = [];
      for (const { route, operation } of operations()) {
        if (operation.security === undefined) open.push(route);
        expect([route, operation.responses.default.content['application/json'].schema]).toEqual([
          route,
          { $ref: '#/components/schemas/Error' },
        ]);
      }
      expect(open).toEqual(['GET /healthz', 'GET /readyz']);
    });
  });

  function operations(): { readonly route: string; readonly operation: Json }[] {
    return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
      Object.entries<Json>(methods).map(([method, operation]) => ({
        route: `${method.toUpperCase()} ${path}`,
        operation,
      })),
    );
  }

  /** The schema of an answer, with all that it refers to; undefined where it is no JSON. */
  function schemaOf(route: string, status: number): z.ZodType | undefined {
    const { operation } = operations().find((one) => one.route === route) ?? {};
    const told = operation?.responses[status] ?? operation?.responses.default;
    const schema = told?.content?.['application/json']?.schema;
    if (schema === undefined) return undefined;
    const moved = JSON.stringify({ ...schema, $defs: document.components.schemas });
    return z.fromJSONSchema(JSON.parse(moved.replaceAll('#/components/schemas/', '#/$defs/')));
  }

  it('answers every route as the document says', async () => {
    const asked = new Set<string>();
    const index = await serve(pythonIndex(wheel('greeter', '1.2.0', { 'greeter.py': 'value = 42' })));
    const configFile = join(server.folder, 'packages.yaml');
    const network = {
      host_map: { 'index.test': index.endpoint },
      allowed_registries: { pypi: ['http://index.test/simple'] },
    };
    writeFileSync(configFile, JSON.stringify({ security: { sandbox: { network } } }));
    const withPackages = await startTestServer({ configFile, env: { SANDBOX_GATE: 'trusted' } });
    const gated = await startTestServer();

    const call = async ({ route, path, status, ...asking }: Call, where = server): Promise<Json> => {
      asked.add(route);
      const [method = '', address = ''] = route.split(' ');
      const answer = await where.ask(method, path ?? address, asking);
      expect([route, answer.status, answer.status === status ? '' : answer.text]).toEqual([
        route,
        status,
        '',
      ]);
      const schema = schemaOf(route, status);
      if (schema !== undefined) {
        const parsed = schema.safeParse(answer.json);
        expect([route, parsed.error?.issues ?? []]).toEqual([route, []]);
      }
      return answer.json ?? answer.text;
    };

    try {
      expect(await call({ route: 'GET /healthz', status: 200, key: null })).toMatchObject({ status: 'ok' });
      expect(await call({ route: 'GET /readyz', status: 200, key: null })).toEqual({ ready: true });

      const run = await call({
        ...{ route: 'POST /v1/executions', status: 200 },
        json: {
          code: 'print(input())',
          stdin: 'hi',
          collect: ['none.txt'],
          requires: { limits: ['memory_mb'] },
        },
      });
      expect(run).toMatchObject({ stdout: 'hi\n', outcome: 'exited', meta: { language: 'python' } });
      const { execution_id } = run.meta;
      const execution = `/v1/executions/${execution_id}`;
      const known = await call({ route: 'GET /v1/executions/{id}', path: execution, status: 200 });
      expect(known).toEqual({
        ...{ execution_id, sandbox_id: null, state: 'ended', result: run },
        ...{ started_at: known.started_at, ended_at: known.ended_at },
      });
      expect(await call({ route: 'GET /v1/executions', status: 200 })).toMatchObject({
        executions: [{ execution_id, state: 'ended' }],
      });
      const events = await call({
        ...{ route: 'GET /v1/executions/{id}/events', path: `${execution}/events`, status: 200 },
      });
      expect(events).toContain('event: result');
      const page = await call({
        ...{ route: 'GET /v1/executions/{id}/output', path: `${execution}/output?limit=10`, status: 200 },
      });
      expect(page).toEqual({
        ...{ stream: 'stdout', text: 'hi\n', data_base64: 'aGkK', offset: 0, next_offset: 3 },
        ...{ total_bytes: 3, dropped_bytes: 0, ended: true },
      });
      await call({ route: 'DELETE /v1/executions/{id}', path: execution, status: 204 });

      const made = await call({
        ...{ route: 'POST /v1/sandboxes', status: 201 },
        json: { language: 'python', limits: { memory_mb: 200 }, env: { A: 'b' }, lifetime: 300 },
      });
      const { sandbox_id } = made;
      const box = `/v1/sandboxes/${sandbox_id}`;
      expect(made).toMatchObject({
        runtime: 'bubblewrap',
        language: 'python',
        enforced: { network: 'none' },
      });
      expect(await call({ route: 'GET /v1/sandboxes', status: 200 })).toMatchObject({
        sandboxes: [{ sandbox_id }],
      });
      await call({ route: 'GET /v1/sandboxes/{id}', path: box, status: 200 });
      const inBox = await call({
        ...{ route: 'POST /v1/sandboxes/{id}/executions', path: `${box}/executions`, status: 200 },
        json: {
          code_base64: Buffer.from('import os; print(os.environ["A"], open("a.txt").read())').toString(
            'base64',
          ),
          files: { 'a.txt': { content: 'YQ==', encoding: 'base64' } },
        },
      });
      expect(inBox).toMatchObject({ stdout: 'b a\n', meta: { sandbox_id } });

      const { context_id } = await call({
        ...{ route: 'POST /v1/sandboxes/{id}/contexts', path: `${box}/contexts`, status: 201, json: {} },
      });
      const context = `${box}/contexts/${context_id}`;
      const cell = { route: 'POST /v1/sandboxes/{id}/contexts/{context}/executions' } as const;
      await call({ ...cell, path: `${context}/executions`, status: 200, json: { code: 'x = 6' } });
      const second = await call({
        ...{ ...cell, path: `${context}/executions`, status: 200, json: { code: 'x * 7' } },
      });
      expect(second).toMatchObject({ results: [{ type: 'result', text: '42' }], execution_count: 2 });
      expect(
        await call({
          route: 'POST /v1/sandboxes/{id}/contexts/{context}/interrupt',
          ...{ path: `${context}/interrupt`, status: 200 },
        }),
      ).toEqual({ interrupted: false });
      await call({
        ...{ route: 'DELETE /v1/sandboxes/{id}/contexts/{context}', path: context, status: 204 },
      });

      const content = `${box}/files/content?path=folder/b.bin`;
      expect(
        await call({
          ...{ route: 'PUT /v1/sandboxes/{id}/files/content', path: content, status: 200 },
          bytes: Buffer.from([0, 255, 10]),
        }),
      ).toEqual({ path: 'folder/b.bin', size: 3 });
      await call({ route: 'GET /v1/sandboxes/{id}/files/content', path: content, status: 200 });
      expect(
        await call({
          ...{ route: 'GET /v1/sandboxes/{id}/files', path: `${box}/files?path=folder`, status: 200 },
        }),
      ).toMatchObject({ files: [{ name: 'b.bin', type: 'file', size: 3 }] });
      asked.add('GET /v1/sandboxes/{id}/archive');
      const archive = await server.fetch('GET', `${box}/archive?path=folder`);
      const tar = new Uint8Array(await archive.arrayBuffer());
      expect(
        await call({
          ...{ route: 'PUT /v1/sandboxes/{id}/archive', path: `${box}/archive?path=copy`, status: 200 },
          ...{ bytes: tar, type: 'application/x-tar' },
        }),
      ).toMatchObject({ files: 1, bytes: 3 });
      const copied = await server.fetch('GET', `${box}/files/content?path=copy/b.bin`);
      expect([...new Uint8Array(await copied.arrayBuffer())]).toEqual([0, 255, 10]);
      await call({
        route: 'DELETE /v1/sandboxes/{id}/files',
        ...{ path: `${box}/files?path=copy&recursive=true`, status: 204 },
      });

      const program = 'import sys; print(sys.stdin.read(), flush=True)';
      const process = await call({
        ...{ route: 'POST /v1/sandboxes/{id}/processes', path: `${box}/processes`, status: 201 },
        json: { code: program, language: 'python', stdin: 'stream' },
      });
      const { process_id } = process;
      const processes = '/v1/sandboxes/{id}/processes';
      expect(process).toMatchObject({ execution_id: process_id, status: 'running' });
      const running = `${box}/processes/${process_id}`;
      expect(await call({ route: `GET ${processes}`, path: `${box}/processes`, status: 200 })).toMatchObject({
        processes: [process],
      });
      expect(await call({ route: `GET ${processes}/{process}`, path: running, status: 200 })).toEqual(
        process,
      );
      await call({
        route: `PUT ${processes}/{process}/stdin`,
        ...{ path: `${running}/stdin?close=true`, status: 204, bytes: Buffer.from('given') },
      });
      const told = await server.ask('GET', `/v1/executions/${process_id}/events`);
      expect(told.text).toContain('"stdout":"given\\n"');
      await call({ route: `DELETE ${processes}/{process}`, path: running, status: 204 });

      const trial = { route: 'POST /v1/sandboxes/{id}/dry-runs', path: `${box}/dry-runs`, status: 201 };
      const dry = await call({ ...trial, json: { command: ['bash', '-c', 'printf new > new.txt'] } });
      expect(dry).toMatchObject({ effects: { files: [{ path: 'new.txt', kind: 'added' }] } });
      const { dry_run_id, effects_sha256 } = dry;
      expect(
        await call({
          route: 'POST /v1/sandboxes/{id}/dry-runs/{run}/commit',
          ...{ path: `${box}/dry-runs/${dry_run_id}/commit`, status: 200 },
        }),
      ).toEqual({ dry_run_id, effects_sha256 });
      expect((await server.ask('GET', `${box}/files/content?path=new.txt`)).text).toBe('new');
      const another = await call({ ...trial, json: { command: ['touch', 'no.txt'] } });
      await call({
        route: 'DELETE /v1/sandboxes/{id}/dry-runs/{run}',
        ...{ path: `${box}/dry-runs/${another.dry_run_id}`, status: 204 },
      });

      const other = (await withPackages.ask('POST', '/v1/sandboxes', { json: {} })).json;
      const installed = await call(
        {
          route: 'POST /v1/sandboxes/{id}/packages',
          ...{ path: `/v1/sandboxes/${other.sandbox_id}/packages`, status: 200 },
          json: { package: 'greeter==1.2.0', registry: 'pypi' },
        },
        withPackages,
      );
      expect(installed).toMatchObject({ ok: true, version: '1.2.0', sandbox_id: other.sandbox_id });

      await answeringQuestions(gated, (one) => call(one, gated));

      expect(
        await call({
          ...{ route: 'GET /v1/audit', path: `/v1/audit?id=${execution_id}`, status: 200, key: 'operator' },
        }),
      ).toMatchObject({ records: [{ type: 'request', surface: 'http' }, {}, {}, { type: 'ended' }] });
      expect(await call({ route: 'GET /v1/audit/verify', status: 200, key: 'operator' })).toMatchObject({
        ...{ ok: true, flaws: [] },
      });
      expect(
        await call({
          route: 'GET /v1/audit/receipts/{execution}',
          ...{ path: `/v1/audit/receipts/${execution_id}`, status: 200, key: 'operator' },
        }),
      ).toMatchObject({ receipt: { execution_id } });
      asked.add('GET /v1/audit/events');
      const recorded = await server.fetch('GET', '/v1/audit/events?type=ended', {
        ...{ key: 'operator', headers: { 'last-event-id': '1' } },
      });
      expect(await firstEvent(recorded)).toContain('event: record\ndata: {"seq":');

      await call({ route: 'DELETE /v1/sandboxes/{id}', path: box, status: 204 });
      await call({ route: 'DELETE /v1/sandboxes/{id}', path: box, status: 204 });
      const numbers = await call({ route: 'GET /metrics', status: 200, key: 'operator' });
      expect(numbers).toContain('glovebox_executions_total{outcome="exited",language="python"}');
      expect(numbers).toContain(
        'glovebox_requests_total{method="POST",route="/v1/executions",status="200"} 1',
      );
      expect(numbers).toMatch(/^glovebox_warm_idle \d+$/m);
    } finally {
      await Promise.all([withPackages.close(), gated.close()]);
    }
    expect([...asked].sort()).toEqual(
      operations()
        .map(({ route }) => route)
        .sort(),
    );
  });

  /** What is asked, seen, answered, granted, and taken back. */
  async function answeringQuestions(gated: TestServer, call: (call: Call) => Promise<Json>): Promise<void> {
    const stream = await gated.fetch('GET', '/v1/approvals/events', { key: 'operator' });
    await call({ route: 'GET /v1/approvals', status: 200, key: 'operator' });
    const asked = call({ route: 'POST /v1/executions', status: 200, json: { code: DANGEROUS } });
    await call({
      ...{ route: 'GET /v1/approvals/events', path: '/v1/approvals/events', status: 401, key: null },
    });
    const event = await firstEvent(stream);
    const question = JSON.parse(/data: (.*)/.exec(event)?.[1] ?? '');
    const { id, hash } = question;
    expect(Buffer.from(question.code.base64, 'base64').toString()).toBe(DANGEROUS);
    expect(question.asked_by).toBe('key-one');
    const path = `/v1/approvals/${id}`;
    expect(await call({ route: 'GET /v1/approvals', status: 200, key: 'operator' })).toEqual({
      questions: [question],
    });
    expect(await call({ route: 'GET /v1/approvals/{id}', path, status: 200, key: 'operator' })).toEqual(
      question,
    );
    await call({
      ...{ route: 'POST /v1/approvals/{id}', path, status: 204, key: 'operator' },
      json: { hash, approved: true, grant: { scope: 'exact', for_sec: 60, count: 5 } },
    });
    // It ran: what it wanted to remove was not there.
    expect(await asked).toMatchObject({ outcome: 'exited', exit_code: 1 });
    const again = await call({ route: 'POST /v1/executions', status: 200, json: { code: DANGEROUS } });
    expect(again).toMatchObject({ outcome: 'exited', exit_code: 1 });
    const { grants } = await call({ route: 'GET /v1/grants', status: 200, key: 'operator' });
    expect(grants).toMatchObject([{ scope: 'exact', uses_left: 3 }]);
    await call({
      ...{
        route: 'DELETE /v1/grants/{id}',
        path: `/v1/grants/${grants[0].id}`,
        status: 204,
        key: 'operator',
      },
    });
    expect(await call({ route: 'GET /v1/grants', status: 200, key: 'operator' })).toEqual({ grants: [] });
  }

  /** The first event that came, and no more. */
  async function firstEvent(response: Response): Promise<string> {
    const reader = response.body?.getReader();
    let text = '';
    while (!text.includes('\n\n')) {
      const { value } = (await reader?.read()) ?? {};
      text += Buffer.from(value ?? []).toString('utf8');
    }
    await reader?.cancel();
    return text.slice(0, text.indexOf('\n\n'));
  }
});
