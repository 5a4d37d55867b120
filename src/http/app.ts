/** Every request: who asks, what is asked for, and what is told about it. */
import { randomUUID } from 'node:crypto';
import { OpenAPIHono } from '@hono/zod-openapi';
import { SpanStatusCode } from '@opentelemetry/api';
import type { Hono, HonoRequest, MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { packageVersion } from '../version.ts';
import { noSuchRoute } from '../web/errors.ts';
import { type GuardOptions, guards, jsonOnly } from '../web/guard.ts';
import { answerTo, knownIn } from './errors.ts';
import type { Logger } from './logging.ts';
import type { Parts } from './parts.ts';
import { Readiness } from './readiness.ts';
import { refuseInvalid, type ServerApp, type ServerEnv } from './route.ts';
import { addApprovalRoutes } from './routes/approvals.ts';
import { addAuditRoutes } from './routes/audit.ts';
import { addContextRoutes } from './routes/contexts.ts';
import { addDryRunRoutes } from './routes/dryRuns.ts';
import { addExecutionRoutes } from './routes/executions.ts';
import { addFileRoutes } from './routes/files.ts';
import { addProcessRoutes } from './routes/processes.ts';
import { addSandboxRoutes } from './routes/sandboxes.ts';
import { addStateRoutes } from './routes/state.ts';
import { inSpan } from './telemetry.ts';

export interface AppOptions {
  readonly parts: Parts;
  readonly log: Logger;
  readonly guards: GuardOptions;
  /** What else is answered, such as pages for people: asked for what no route of ours is for. */
  readonly mount?: Hono | undefined;
}

export function buildApp({ parts, log, guards: options, mount }: AppOptions): ServerApp {
  const app: ServerApp = new OpenAPIHono<ServerEnv>({ defaultHook: refuseInvalid as never });
  app.use(observed(parts, log));
  for (const guard of guards(options)) app.use(guard);
  app.use('/v1/*', jsonOnly(typeOf));
  app.onError((error) => {
    const code = knownIn(error)?.code;
    if (code !== undefined) parts.metrics.rejected(code);
    return answerTo(error, (bug) => log.error({ error: stackOf(bug) }, 'unexpected'));
  });

  addStateRoutes(app, parts, new Readiness(parts.life, parts.context));
  addExecutionRoutes(app, parts);
  addSandboxRoutes(app, parts);
  addFileRoutes(app, parts);
  addContextRoutes(app, parts);
  addProcessRoutes(app, parts);
  addDryRunRoutes(app, parts);
  addApprovalRoutes(app, parts);
  addAuditRoutes(app, parts);

  app.openAPIRegistry.registerComponent('securitySchemes', 'key', {
    type: 'http',
    scheme: 'bearer',
    description: 'A key of the server; each operation names the scope that it takes.',
  });
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Glovebox',
      version: packageVersion(),
      description: 'Runs code in a sealed case and says honestly what happened.',
      license: { name: 'Apache-2.0' },
    },
  });
  app.get('/openapi.json', (context) => context.json(document));
  if (mount !== undefined) app.route('/', mount);
  app.notFound(() => noSuchRoute());
  return app;
}

/** What a path takes that is no JSON. */
function typeOf(path: string): string | undefined {
  if (path.endsWith('/files/content') || path.endsWith('/stdin')) return 'application/octet-stream';
  return path.endsWith('/archive') ? 'application/x-tar' : undefined;
}

/** A line in the log, a number and a span for each request; its route, never its address, which may hold anything. */
function observed({ metrics, telemetry }: Parts, log: Logger): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    const requestId = randomUUID();
    const begun = performance.now();
    context.set('requestId', requestId);
    await inSpan(telemetry, context.req.method, 'server', async (span) => {
      await next();
      const { method } = context.req;
      const { status } = context.res;
      const route = routePath(context, -1);
      context.header('x-request-id', requestId);
      // What was not read of the body is not read either: whoever sends it must not use this connection again.
      if (status >= 400 && mayBeUnread(context.req)) context.header('connection', 'close');
      metrics.answered(method, route, status);
      span.updateName(`${method} ${route}`);
      span.setAttributes({
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': status,
      });
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      const ms = Math.round(performance.now() - begun);
      const key = context.get('caller')?.id;
      log.info(
        { request: requestId, ...(key === undefined ? {} : { key }), method, route, status, ms },
        'request',
      );
    });
  };
}

/** Up to so many bytes are read even where nobody wants them. */
const READ_ANYWAY_BYTES = 64 * 1024;

function mayBeUnread(request: HonoRequest): boolean {
  const length = Number(request.header('content-length') ?? 0);
  return request.header('transfer-encoding') !== undefined || length > READ_ANYWAY_BYTES;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
