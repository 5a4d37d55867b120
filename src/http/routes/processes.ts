/** Programs that run beside the executions of a live sandbox. */
import { z } from '@hono/zod-openapi';
import type { BackgroundProcess } from '../../operations/backgroundProcess.ts';
import type { LiveSandbox } from '../../operations/liveSandbox.ts';
import { endedWith } from '../ended.ts';
import { notFound } from '../errors.ts';
import type { Execution } from '../executions.ts';
import { backgroundJobOf, bytesGiven, languageOf, startOptionsOf } from '../options.ts';
import type { Parts } from '../parts.ts';
import { addRoute, bytesOf, json, noContent, type ServerApp } from '../route.ts';
import { processInput, sandboxParams } from '../schemas/inputs.ts';
import { processResult } from '../schemas/results.ts';

const tag = 'Processes';
const scope = 'execute';
const path = '/v1/sandboxes/{id}/processes/{process}';

const params = sandboxParams.extend({ process: z.string().max(100) });

export function addProcessRoutes(app: ServerApp, parts: Parts): void {
  const { executions, sandboxes, usage, limits } = parts;

  addRoute(
    app,
    parts,
    {
      ...{ method: 'post', path: '/v1/sandboxes/{id}/processes', tag, scope, begins: true },
      summary: 'Start a program that runs until it ends, is ended, or the sandbox ends',
      ...{ params: sandboxParams, body: processInput },
      responses: {
        201: {
          description: 'It runs; what it writes and what comes of it is at /v1/executions/{execution_id}.',
          schema: processResult,
        },
      },
    },
    async ({ params, body, caller, signal: gone }) => {
      const live = sandboxes.get(caller.id, params.id);
      await usage.admitExecution(caller, bytesGiven(body));
      const { promise: begun, resolve: begin } = deferred<BackgroundProcess>();
      const execution = executions.start({
        ...{ caller, sandboxId: live.id, language: languageOf(body), place: 'beside' },
        run: async ({ signal, onOutput }) => {
          const options = { ...startOptionsOf(body), signal, onOutput };
          const started = await live.start(backgroundJobOf(body), options);
          begin(started);
          return endedWith(await started.wait());
        },
      });
      return json(processToJson(await firstOf(begun, execution, gone)), 201);
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/sandboxes/{id}/processes', tag, scope },
      summary: 'List the processes of a sandbox; of those that have ended the last 20',
      params: sandboxParams,
      responses: {
        200: {
          description: 'In the order of their start.',
          schema: z.strictObject({ processes: z.array(processResult) }),
        },
      },
    },
    ({ params, caller }) =>
      json({ processes: sandboxes.get(caller.id, params.id).processes().map(processToJson) }),
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path, tag, scope },
      summary: 'What is known of a process',
      params,
      responses: { 200: { description: 'Its status.', schema: processResult } },
    },
    ({ params, caller }) => json(processToJson(find(sandboxes.get(caller.id, params.id), params.process))),
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'put', path: `${path}/stdin`, tag, scope },
      summary: 'Write to its standard input, or with close=true close it afterwards',
      params,
      query: z.strictObject({ close: z.enum(['true', 'false']).optional() }),
      bytes: 'application/octet-stream',
      responses: { 204: { description: 'It was written.' } },
    },
    async ({ params, query, caller, context }) => {
      const found = find(sandboxes.get(caller.id, params.id), params.process);
      await usage.admitTransfer(caller);
      const bytes = await bytesOf(context.req.raw, limits.bodyBytes);
      await usage.spend(caller, { bytes: bytes.length });
      if (bytes.length > 0) await found.write(bytes);
      if (query.close === 'true') await found.closeStdin();
      return noContent();
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'delete', path, tag, scope },
      summary: 'End a process; with a signal, only send that',
      params,
      query: z.strictObject({ signal: z.enum(['SIGINT', 'SIGTERM', 'SIGKILL']).optional() }),
      responses: { 204: { description: 'It has ended, or the signal was sent.' } },
    },
    async ({ params, query, caller }) => {
      await find(sandboxes.get(caller.id, params.id), params.process).kill(query.signal);
      return noContent();
    },
  );
}

/** The process once it runs; throws why it does not. It is not started for whoever has gone. */
async function firstOf(
  begun: Promise<BackgroundProcess>,
  execution: Execution,
  gone: AbortSignal,
): Promise<BackgroundProcess> {
  const cancel = (): void => execution.cancel();
  gone.addEventListener('abort', cancel, { once: true });
  const process = await Promise.race([begun, execution.settled]);
  gone.removeEventListener('abort', cancel);
  if (process !== undefined) return process;
  if (execution.state === 'failed') throw execution.error;
  return begun;
}

function find(live: LiveSandbox, id: string): BackgroundProcess {
  const found = live.processes().find((process) => process.id === id);
  if (found === undefined) throw notFound('process', id);
  return found;
}

function processToJson({ id, argv, status, startedAt }: BackgroundProcess) {
  return { process_id: id, execution_id: id, argv, status, started_at: startedAt };
}

function deferred<Value>(): { readonly promise: Promise<Value>; readonly resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}
