/** Contexts: languages that keep their state in a live sandbox. */
import { z } from '@hono/zod-openapi';
import { richResultToJson } from '../../result/contextExecutionJson.ts';
import { Contexts } from '../contexts.ts';
import { defined } from '../defined.ts';
import { cellEndedWith } from '../ended.ts';
import { loweredBy } from '../options.ts';
import type { Parts } from '../parts.ts';
import { addRoute, json, noContent, type ServerApp } from '../route.ts';
import { cellInput, contextInput, sandboxParams, waitQuery } from '../schemas/inputs.ts';
import { cellResult, context, startedExecution } from '../schemas/results.ts';
import { answered } from './executions.ts';

const tag = 'Contexts';
const scope = 'execute';
const path = '/v1/sandboxes/{id}/contexts/{context}';

const params = sandboxParams.extend({ context: z.string().max(100) });

export function addContextRoutes(app: ServerApp, parts: Parts): void {
  const { executions, sandboxes, usage } = parts;
  const contexts = new Contexts();

  addRoute(
    app,
    parts,
    {
      ...{ method: 'post', path: '/v1/sandboxes/{id}/contexts', tag, scope, begins: true },
      summary: 'Start a language that keeps its state',
      ...{ params: sandboxParams, body: contextInput },
      responses: { 201: { description: 'It waits for code.', schema: context } },
    },
    async ({ params, body, caller, signal }) => {
      const live = sandboxes.get(caller.id, params.id);
      await usage.admitExecution(caller);
      const { env } = body;
      const id = await contexts.open(live, () =>
        live.context(body.language, { ...defined({ env }), ...loweredBy(body), signal }),
      );
      return json({ context_id: id, language: contexts.get(live, id).language }, 201);
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'post', path: `${path}/executions`, tag, scope, begins: true },
      summary: 'Run code after what was run before',
      ...{ params, query: waitQuery, body: cellInput },
      responses: {
        200: { description: 'What came of it.', schema: cellResult },
        202: { description: 'It goes on; with wait=false.', schema: startedExecution },
      },
    },
    async ({ params, query, body, caller, signal: gone }) => {
      const live = sandboxes.get(caller.id, params.id);
      const found = contexts.get(live, params.context);
      await usage.admitExecution(caller);
      const { code, timeout, max_output_bytes: maxOutputBytes } = body;
      const options = defined({ timeout, maxOutputBytes });
      const started = executions.start({
        ...{ caller, sandboxId: live.id, language: found.language },
        run: async ({ signal, onOutput, onRich }) => {
          const onResult = (result: Parameters<typeof richResultToJson>[0]): void =>
            onRich(JSON.stringify(richResultToJson(result)));
          return cellEndedWith(await found.execute(code, { ...options, signal, onOutput, onResult }));
        },
      });
      return answered(started, query, gone);
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'post', path: `${path}/interrupt`, tag, scope },
      summary: 'Interrupt what runs, as Ctrl-C does; the state stays',
      params,
      responses: {
        200: {
          description: 'Whether anything did run.',
          schema: z.strictObject({ interrupted: z.boolean() }),
        },
      },
    },
    async ({ params, caller }) => {
      const found = contexts.get(sandboxes.get(caller.id, params.id), params.context);
      return json({ interrupted: await found.interrupt() });
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'delete', path, tag, scope },
      summary: 'End a context with all that it started',
      params,
      responses: { 204: { description: 'It is gone.' } },
    },
    async ({ params, caller }) => {
      await contexts.close(sandboxes.get(caller.id, params.id), params.context);
      return noContent();
    },
  );
}
