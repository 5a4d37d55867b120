/** How the server is. */
import { z } from '@hono/zod-openapi';
import { packageVersion } from '../../version.ts';
import type { Parts } from '../parts.ts';
import type { Readiness } from '../readiness.ts';
import { addRoute, json, type ServerApp } from '../route.ts';

const tag = 'Server';

const ready = z.strictObject({ ready: z.boolean(), reason: z.string().optional() });

export function addStateRoutes(app: ServerApp, parts: Parts, readiness: Readiness): void {
  const { metrics } = parts;

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/healthz', tag },
      summary: 'Whether the server answers at all',
      responses: {
        200: {
          description: 'It does.',
          schema: z.strictObject({ status: z.literal('ok'), version: z.string() }),
        },
      },
    },
    () => json({ status: 'ok', version: packageVersion() }),
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/readyz', tag },
      summary: 'Whether the server takes work',
      responses: {
        200: { description: 'It does.', schema: ready },
        503: { description: 'It does not, and why.', schema: ready },
      },
    },
    async () => {
      const reason = await readiness.whyNot();
      return reason === undefined ? json({ ready: true }) : json({ ready: false, reason }, 503);
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/metrics', tag, scope: 'metrics' },
      summary: 'Numbers for Prometheus',
      responses: { 200: { description: 'In the text format.', media: 'text/plain' } },
    },
    async () => new Response(await metrics.text(), { headers: { 'content-type': metrics.contentType } }),
  );
}
