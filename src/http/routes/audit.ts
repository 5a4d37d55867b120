/** What was recorded. */
import { z } from '@hono/zod-openapi';
import type { LoggedRecord, RecordFilter, Verdict } from '../../operations/auditTrail.ts';
import { withoutUndefined } from '../../result/resultJson.ts';
import { defined } from '../defined.ts';
import { eventStream } from '../events.ts';
import type { Parts } from '../parts.ts';
import { addRoute, json, type ServerApp } from '../route.ts';
import { auditRecord } from '../schemas/results.ts';

const tag = 'Audit';
const scope = 'audit';

const time = z.iso.datetime({ offset: true });

const filters = {
  type: z.string().max(100).optional(),
  operation: z.string().max(100).optional(),
  id: z.string().max(100).optional().openapi({ description: 'Of a request or an execution.' }),
  sandbox_id: z.string().max(100).optional(),
  since: time.optional(),
  until: time.optional(),
};

const LAST = 100;
const MOST = 10_000;

const flaw = z.strictObject({
  kind: z.string(),
  file: z.string(),
  line: z.number().int(),
  seq: z.number().int(),
  message: z.string(),
});

const verdict = z
  .strictObject({
    ok: z.boolean(),
    records: z.number().int(),
    first: z.number().int().optional(),
    last: z.strictObject({ seq: z.number().int(), hash: z.string() }).optional(),
    bytes: z.number().int(),
    flaws: z.array(flaw),
  })
  .openapi('AuditVerdict');

export function addAuditRoutes(app: ServerApp, parts: Parts): void {
  const { trail, life } = parts;

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/audit', tag, scope },
      summary: 'The last records that match',
      query: z.strictObject({
        ...filters,
        limit: z.coerce.number().int().min(1).max(MOST).optional(),
        after: z.coerce
          .number()
          .int()
          .nonnegative()
          .optional()
          .openapi({ description: 'Only above this number.' }),
      }),
      responses: {
        200: {
          description: 'In their order.',
          schema: z.strictObject({ records: z.array(auditRecord) }),
        },
      },
    },
    async ({ query }) => {
      const { limit = LAST, after = 0 } = query;
      const last: LoggedRecord[] = [];
      for await (const logged of (await trail()).records({ filter: filterOf(query) })) {
        if (logged.record.seq <= after) continue;
        last.push(logged);
        if (last.length > 2 * limit) last.splice(0, last.length - limit);
      }
      return json({ records: last.slice(-limit).map(({ record }) => record) });
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/audit/verify', tag, scope },
      summary: 'Check each record and the chain',
      responses: { 200: { description: 'What was found.', schema: verdict } },
    },
    async () => json(verdictToJson(await (await trail()).verify())),
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/audit/receipts/{execution}', tag, scope },
      summary: 'What is known of one execution, with its records',
      params: z.strictObject({ execution: z.string().max(100) }),
      responses: {
        200: {
          description: 'The receipt.',
          schema: z.looseObject({
            receipt: z.record(z.string(), z.unknown()),
            records: z.array(z.string()),
          }),
        },
      },
    },
    async ({ params: { execution } }) => json(await (await trail()).receipt(execution)),
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/audit/events', tag, scope },
      summary: 'Records as they are written',
      query: z.strictObject(filters),
      headers: z.object({
        'last-event-id': z
          .string()
          .regex(/^\d{1,15}$/, 'is the number of no record')
          .optional()
          .openapi({ description: 'Go on behind this record; behind the last one otherwise.' }),
      }),
      responses: {
        200: { description: 'Events: record, its number as the id.', media: 'text/event-stream' },
      },
    },
    async ({ query, context }) => {
      const log = await trail();
      const seen = context.req.header('last-event-id');
      let last = seen === undefined ? await lastSeq(parts) : Number(seen);
      return eventStream((gone) => {
        const follow = AbortSignal.any([gone, life.ending]);
        const records = log.records({ filter: filterOf(query), follow });
        return async () => {
          for (;;) {
            const { value, done } = await records.next();
            if (done) return 'end';
            if (value.record.seq <= last) continue;
            last = value.record.seq;
            return [{ event: 'record', id: String(last), data: JSON.stringify(value.record) }];
          }
        };
      });
    },
  );
}

async function lastSeq({ trail }: Parts): Promise<number> {
  let last = 0;
  for await (const { record } of (await trail()).records()) last = record.seq;
  return last;
}

function filterOf(
  query: {
    readonly [Name in keyof typeof filters]?: string | undefined;
  },
): RecordFilter {
  const { type, operation, id, sandbox_id: sandboxId, since, until } = query;
  return defined({
    types: type === undefined ? undefined : [type],
    operations: operation === undefined ? undefined : [operation],
    ...{ id, sandboxId },
    since: since === undefined ? undefined : new Date(since),
    until: until === undefined ? undefined : new Date(until),
  });
}

function verdictToJson({ records, first, last, bytes, flaws }: Verdict): Readonly<Record<string, unknown>> {
  return withoutUndefined({ ok: flaws.length === 0, records, first, last, bytes, flaws });
}
