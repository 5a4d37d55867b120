/** Live sandboxes, and programs in them. */
import { z } from '@hono/zod-openapi';
import type { LiveSandbox } from '../../operations/liveSandbox.ts';
import { defined } from '../defined.ts';
import { endedWith, installationEndedWith } from '../ended.ts';
import type { Running } from '../executions.ts';
import { bytesGiven, jobOf, languageOf, liveOptionsOf, sandboxOptionsOf } from '../options.ts';
import type { Parts } from '../parts.ts';
import { addRoute, json, noContent, type ServerApp } from '../route.ts';
import {
  liveExecutionInput,
  packageInput,
  sandboxInput,
  sandboxParams,
  waitQuery,
} from '../schemas/inputs.ts';
import { executionResult, installResult, sandbox, startedExecution } from '../schemas/results.ts';
import { answered } from './executions.ts';

const tag = 'Sandboxes';

export function addSandboxRoutes(app: ServerApp, parts: Parts): void {
  const { executions, sandboxes, usage } = parts;

  addRoute(
    app,
    parts,
    {
      ...{ method: 'post', path: '/v1/sandboxes', tag, scope: 'execute', begins: true },
      summary: 'Make a sandbox that lives on',
      body: sandboxInput,
      responses: { 201: { description: 'It lives.', schema: sandbox } },
    },
    async ({ body, caller, signal }) => {
      const admit = (count: number): void => usage.admitSandbox(caller, count);
      const { id } = await sandboxes.create(caller.id, { ...sandboxOptionsOf(body), signal }, admit);
      return json(sandboxes.describe(caller.id, id), 201);
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/sandboxes', tag, scope: 'execute' },
      summary: 'List the sandboxes of this key that live',
      responses: {
        200: { description: 'Those that live.', schema: z.strictObject({ sandboxes: z.array(sandbox) }) },
      },
    },
    ({ caller }) => json({ sandboxes: sandboxes.list(caller.id) }),
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/sandboxes/{id}', tag, scope: 'execute' },
      summary: 'What is known of a sandbox',
      params: sandboxParams,
      responses: { 200: { description: 'It lives.', schema: sandbox } },
    },
    ({ params, caller }) => json(sandboxes.describe(caller.id, params.id)),
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'delete', path: '/v1/sandboxes/{id}', tag, scope: 'execute' },
      summary: 'End a sandbox with all that is in it',
      params: sandboxParams,
      responses: { 204: { description: 'It is gone.' } },
    },
    async ({ params, caller }) => {
      await sandboxes.destroy(caller.id, params.id);
      return noContent();
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'post', path: '/v1/sandboxes/{id}/executions', tag, scope: 'execute', begins: true },
      summary: 'Run one program in a sandbox',
      ...{ params: sandboxParams, query: waitQuery, body: liveExecutionInput },
      responses: {
        200: { description: 'What came of it.', schema: executionResult },
        202: { description: 'It goes on; with wait=false.', schema: startedExecution },
      },
    },
    async ({ params, query, body, caller, signal: gone }) => {
      const live = sandboxes.get(caller.id, params.id);
      await usage.admitExecution(caller, bytesGiven(body));
      const started = executions.start({
        ...{ caller, sandboxId: live.id, language: languageOf(body) },
        run: async (running) => endedWith(await runIn(live, body, running)),
      });
      return answered(started, query, gone);
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'post', path: '/v1/sandboxes/{id}/packages', tag, scope: 'execute', begins: true },
      summary: 'Install one package in a sandbox',
      ...{ params: sandboxParams, query: waitQuery, body: packageInput },
      responses: {
        200: { description: 'What came of it.', schema: installResult },
        202: { description: 'It goes on; with wait=false.', schema: startedExecution },
      },
    },
    async ({ params, query, body, caller, signal: gone }) => {
      const live = sandboxes.get(caller.id, params.id);
      await usage.admitExecution(caller);
      const { registry, timeout, allow_scripts: allowScripts } = body;
      const options = defined({ registry, timeout, allowScripts });
      const started = executions.start({
        ...{ caller, sandboxId: live.id, language: null },
        run: async ({ signal, onOutput }) =>
          installationEndedWith(await live.installPackage(body.package, { ...options, signal, onOutput })),
      });
      return answered(started, query, gone);
    },
  );
}

function runIn(
  live: LiveSandbox,
  body: z.output<typeof liveExecutionInput>,
  { signal, onOutput }: Pick<Running, 'signal' | 'onOutput'>,
) {
  const job = jobOf(body);
  const { language, ...options } = { ...liveOptionsOf(body), signal, onOutput };
  return 'command' in job
    ? live.exec(job.command, options)
    : live.execute(job.code, { ...options, ...defined({ language }) });
}
