/** Executions: one program in a sandbox of its own, and what is known of every execution by its id. */
import { z } from '@hono/zod-openapi';
import { executeOnce } from '../../operations/execute.ts';
import { endedWith } from '../ended.ts';
import { errorJson } from '../errors.ts';
import { executionEvents, type ServerEvent } from '../events.ts';
import type { Execution } from '../executions.ts';
import { bytesGiven, executeOptionsOf, jobOf, languageOf } from '../options.ts';
import type { Parts } from '../parts.ts';
import { addRoute, json, jsonText, noContent, type ServerApp } from '../route.ts';
import { executionInput, executionParams, waitQuery } from '../schemas/inputs.ts';
import { execution, executionResult, outputPage, startedExecution } from '../schemas/results.ts';

const tag = 'Executions';

export function addExecutionRoutes(app: ServerApp, parts: Parts): void {
  const { executions, context, usage } = parts;

  addRoute(
    app,
    parts,
    {
      ...{ method: 'post', path: '/v1/executions', tag, scope: 'execute', begins: true },
      summary: 'Run one program in a sandbox of its own',
      ...{ query: waitQuery, body: executionInput },
      responses: {
        200: { description: 'What came of it.', schema: executionResult },
        202: { description: 'It goes on; with wait=false.', schema: startedExecution },
      },
    },
    async ({ body, query, caller, signal: gone }) => {
      await usage.admitExecution(caller, bytesGiven(body));
      const started = executions.start({
        ...{ caller, sandboxId: null, language: languageOf(body) },
        run: async ({ signal, onOutput }) =>
          endedWith(await executeOnce(context, jobOf(body), { ...executeOptionsOf(body), signal, onOutput })),
      });
      return answered(started, query, gone);
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/executions', tag, scope: 'execute' },
      summary: 'List the executions of this key that are known, the oldest first',
      responses: {
        200: {
          description: 'Without their results.',
          schema: z.strictObject({ executions: z.array(execution) }),
        },
      },
    },
    ({ caller }) => json({ executions: executions.list(caller.id).map(inShort) }),
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/executions/{id}', tag, scope: 'execute' },
      summary: 'What is known of an execution',
      params: executionParams,
      responses: { 200: { description: 'With its result once it has ended.', schema: execution } },
    },
    ({ params, caller }) => jsonText(textOf(executions.find(caller.id, params.id))),
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/executions/{id}/events', tag, scope: 'execute' },
      summary: 'What an execution writes and what comes of it, as it comes',
      params: executionParams,
      // Another parameter is no reason to hear nothing.
      query: z.object({
        output: z.enum(['true', 'false']).optional().openapi({
          description: 'false: only result or error.',
        }),
      }),
      headers: z.object({
        'last-event-id': z.string().max(100).optional().openapi({ description: 'Go on behind this event.' }),
      }),
      responses: {
        200: {
          description: 'Events: output, rich, gap, and at the end result or error.',
          media: 'text/event-stream',
        },
        204: { description: 'Nothing comes behind that event.' },
      },
    },
    ({ params, query, caller, context: request }) => {
      const found = executions.find(caller.id, params.id);
      const { log, settled } = found;
      const outcome = (): ServerEvent => outcomeOf(found);
      const lastSeen = request.req.header('last-event-id');
      return executionEvents({ log, settled, outcome }, lastSeen, query.output !== 'false');
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/executions/{id}/output', tag, scope: 'execute' },
      summary: 'A page of what an execution wrote',
      params: executionParams,
      query: z.strictObject({
        stream: z.enum(['stdout', 'stderr']).optional(),
        offset: z.coerce.number().int().nonnegative().optional(),
        limit: z.coerce.number().int().positive().optional(),
      }),
      responses: { 200: { description: 'The page.', schema: outputPage } },
    },
    ({ params, query, caller }) => {
      const { stream, offset, limit } = query;
      const request = {
        ...(stream === undefined ? {} : { stream }),
        ...(offset === undefined ? {} : { offset }),
        ...(limit === undefined ? {} : { limit }),
      };
      const page = pageOf(parts, caller.id, executions.find(caller.id, params.id), request);
      return json({
        ...{ stream: page.stream, text: page.text },
        data_base64: Buffer.from(page.bytes).toString('base64'),
        ...{ offset: page.offset, next_offset: page.nextOffset, total_bytes: page.totalBytes },
        ...{ dropped_bytes: page.droppedBytes, ended: page.ended },
      });
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'delete', path: '/v1/executions/{id}', tag, scope: 'execute' },
      summary: 'Cancel an execution; one that has ended is left as it is',
      params: executionParams,
      responses: { 204: { description: 'It ends.' } },
    },
    ({ params, caller }) => {
      executions.find(caller.id, params.id).cancel();
      return noContent();
    },
  );
}

/** Its result once it has ended, or at once that it goes on. It is cancelled when whoever waits for it has gone. */
export async function answered(
  started: Execution,
  { wait }: { readonly wait?: 'true' | 'false' | undefined },
  gone: AbortSignal,
  status = 200,
): Promise<Response> {
  const { id, sandboxId } = started;
  if (wait !== 'false') await settledFor(started, gone);
  const response =
    wait === 'false'
      ? json({ execution_id: id, sandbox_id: sandboxId, state: started.state }, 202)
      : jsonText(started.json ?? '', status);
  response.headers.set('location', `/v1/executions/${id}`);
  return response;
}

/** Waits for its end; throws what it failed with. It is cancelled when whoever waits for it has gone. */
async function settledFor(started: Execution, gone: AbortSignal): Promise<void> {
  const cancel = (): void => started.cancel();
  gone.addEventListener('abort', cancel, { once: true });
  if (gone.aborted) cancel();
  await started.settled;
  gone.removeEventListener('abort', cancel);
  if (started.state === 'failed') throw started.error;
}

function inShort({ id, sandboxId, state, startedAt, endedAt }: Execution): Readonly<Record<string, unknown>> {
  return {
    ...{ execution_id: id, sandbox_id: sandboxId, state },
    ...{ started_at: startedAt?.toISOString() ?? null, ended_at: endedAt?.toISOString() ?? null },
  };
}

/** The result is text already, however long it is. */
function textOf(found: Execution): string {
  const head = JSON.stringify(inShort(found)).slice(0, -1);
  if (found.state === 'failed') return `${head},"error":${JSON.stringify(errorJson(found.error))}}`;
  return found.json === undefined ? `${head}}` : `${head},"result":${found.json}}`;
}

function outcomeOf({ state, json: result, error }: Execution): ServerEvent {
  return state === 'failed'
    ? { event: 'error', data: JSON.stringify({ error: errorJson(error) }) }
    : { event: 'result', data: result ?? '' };
}

/** A sandbox that lives keeps more of the output than the server does. */
function pageOf({ sandboxes }: Parts, owner: string, found: Execution, request: object) {
  const own = found.log.page(request);
  if (own.droppedBytes === 0 || found.sandboxId === null) return own;
  try {
    return sandboxes.get(owner, found.sandboxId).output(found.id, request);
  } catch {
    // It has ended, or never kept that.
    return own;
  }
}
