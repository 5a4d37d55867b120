/** Trying something out in a copy of the workspace, and making what came of it count. */
import { z } from '@hono/zod-openapi';
import type { DryRun } from '../../operations/dryRun/dryRun.ts';
import { effectsToJson } from '../../operations/dryRun/effects.ts';
import { WaitingDryRuns } from '../../operations/dryRun/waitingDryRuns.ts';
import { resultToJson } from '../../result/resultJson.ts';
import { endedWith } from '../ended.ts';
import { notFound } from '../errors.ts';
import { backgroundJobOf, bytesGiven, languageOf, liveOptionsOf } from '../options.ts';
import type { Parts } from '../parts.ts';
import { addRoute, json, noContent, type ServerApp } from '../route.ts';
import { liveExecutionInput, sandboxParams, waitQuery } from '../schemas/inputs.ts';
import { dryRun, startedExecution } from '../schemas/results.ts';
import { answered } from './executions.ts';

const tag = 'Dry runs';
const scope = 'execute';
const path = '/v1/sandboxes/{id}/dry-runs/{run}';

const params = sandboxParams.extend({ run: z.string().max(100) });

export function addDryRunRoutes(app: ServerApp, parts: Parts): void {
  const { executions, sandboxes, usage } = parts;
  const waiting = new WaitingDryRuns();

  addRoute(
    app,
    parts,
    {
      ...{ method: 'post', path: '/v1/sandboxes/{id}/dry-runs', tag, scope, begins: true },
      summary: 'Run one program in a copy of the workspace',
      ...{ params: sandboxParams, query: waitQuery, body: liveExecutionInput },
      responses: {
        201: { description: 'What it would change.', schema: dryRun },
        202: {
          description: 'It goes on; with wait=false. Its result is what 201 has.',
          schema: startedExecution,
        },
      },
    },
    async ({ params, query, body, caller, signal: gone }) => {
      const live = sandboxes.get(caller.id, params.id);
      await usage.admitExecution(caller, bytesGiven(body));
      const execution = executions.start({
        ...{ caller, sandboxId: live.id, language: languageOf(body) },
        run: async ({ signal, onOutput }) => {
          const { language: _, ...options } = liveOptionsOf(body);
          const run = await live.dryRun(backgroundJobOf(body), { ...options, signal, onOutput });
          // Nobody waits for its id.
          if (query.wait !== 'false' && gone.aborted) await run.discard();
          else await waiting.add(live, run);
          return { ...endedWith(run.result), json: JSON.stringify(dryRunToJson(run)) };
        },
      });
      return answered(execution, query, gone, 201);
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'post', path: `${path}/commit`, tag, scope, begins: true },
      summary: 'Make the workspace what the copy became',
      params,
      responses: {
        200: {
          description: 'It is done.',
          schema: z.strictObject({ dry_run_id: z.string(), effects_sha256: z.string() }),
        },
      },
    },
    async ({ params: { id, run }, caller }) => {
      sandboxes.get(caller.id, id);
      if (!waiting.has(id, run)) throw notFound('dry run', run);
      return json({ dry_run_id: run, effects_sha256: await waiting.commit(id, run) });
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'delete', path, tag, scope },
      summary: 'Forget a dry run',
      params,
      responses: { 204: { description: 'It is gone.' } },
    },
    async ({ params: { id, run }, caller }) => {
      sandboxes.get(caller.id, id);
      if (!waiting.has(id, run)) throw notFound('dry run', run);
      await waiting.discard(id, run);
      return noContent();
    },
  );
}

function dryRunToJson({ id, hash, effects, result }: DryRun) {
  return {
    ...{ dry_run_id: id, effects_sha256: hash, effects: effectsToJson(effects) },
    result: resultToJson(result),
  };
}
