/** What waits for a person, and what people have granted. */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from '@hono/zod-openapi';
import { SandboxError } from '../../errors.ts';
import type { Answer, Question } from '../../operations/approvals.ts';
import { defined } from '../defined.ts';
import { eventStream, type ServerEvent } from '../events.ts';
import type { Parts } from '../parts.ts';
import { grantToJson, questionToJson } from '../questionJson.ts';
import { addRoute, json, noContent, type ServerApp } from '../route.ts';
import { answerInput } from '../schemas/inputs.ts';
import { grant, question } from '../schemas/results.ts';

const tag = 'Approvals';
const scope = 'approve';

const params = z.strictObject({ id: z.string().max(100) });

/** Questions come from other processes as well, so it is looked for them. */
const LOOK_MS = 500;

export function addApprovalRoutes(app: ServerApp, parts: Parts): void {
  const { approvals, life } = parts;

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/approvals', tag, scope },
      summary: 'What waits for an answer, the oldest first',
      responses: {
        200: { description: 'Whole questions.', schema: z.strictObject({ questions: z.array(question) }) },
      },
    },
    async () => json({ questions: (await approvals()).waiting().map(questionToJson) }),
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/approvals/events', tag, scope },
      summary: 'Questions as they come and go',
      responses: {
        200: {
          description: 'Events: question, with the question; gone, with its id.',
          media: 'text/event-stream',
        },
      },
    },
    async () => {
      const room = await approvals();
      let known: ReadonlySet<string> | undefined;
      return eventStream((gone) => {
        const over = AbortSignal.any([gone, life.ending]);
        return async () => {
          if (known !== undefined) await pause(LOOK_MS, over);
          if (over.aborted) return 'end';
          const waiting = room.waiting();
          const events = changes(known ?? new Set(), waiting);
          known = new Set(waiting.map(({ id }) => id));
          return events;
        };
      });
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/approvals/{id}', tag, scope },
      summary: 'One question, whole',
      params,
      responses: { 200: { description: 'It waits.', schema: question } },
    },
    async ({ params: { id } }) => json(questionToJson((await approvals()).read(id))),
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'post', path: '/v1/approvals/{id}', tag, scope },
      summary: 'Answer a question as it was shown, which its hash says; never one of this very key',
      ...{ params, body: answerInput },
      responses: { 204: { description: 'The answer counts.' } },
    },
    async ({ params: { id }, body, caller }) => {
      const room = await approvals();
      assertOfOthers(room.read(id), caller.id);
      room.answer({ ...room.read(id), hash: body.hash }, answerOf(body));
      return noContent();
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/grants', tag, scope },
      summary: 'What people have granted',
      responses: {
        200: { description: 'In force.', schema: z.strictObject({ grants: z.array(grant) }) },
      },
    },
    async () => json({ grants: (await (await approvals()).grants()).map(grantToJson) }),
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'delete', path: '/v1/grants/{id}', tag, scope },
      summary: 'Take a grant back',
      params,
      responses: { 204: { description: 'It holds no more.' } },
    },
    async ({ params: { id } }) => {
      await (await approvals()).revoke(id);
      return noContent();
    },
  );
}

/** Whoever asks does not answer. Throws `FORBIDDEN`. */
export function assertOfOthers({ id, askedBy }: Question, answering: string): void {
  if (askedBy !== answering) return;
  throw new SandboxError('FORBIDDEN', 'A key does not answer what it has asked itself.', {
    hint: 'Have somebody else answer, with a key of their own.',
    details: { id },
  });
}

/** Throws `INPUT_INVALID` for a no that grants, and for a yes with a reason. */
function answerOf({ approved, reason, grant }: z.output<typeof answerInput>): Answer {
  if (approved ? reason !== undefined : grant !== undefined) {
    throw new SandboxError('INPUT_INVALID', 'A yes has no reason, and a no grants nothing.', {
      hint: 'Send a reason with approved: false, a grant with approved: true.',
    });
  }
  if (!approved) return { approved, ...defined({ reason }) };
  if (grant === undefined) return { approved };
  const { scope, for_sec: forSec, count } = grant;
  return { approved, grant: { scope, ...defined({ forSec, count }) } };
}

function changes(known: ReadonlySet<string>, waiting: readonly Question[]): ServerEvent[] {
  const now = new Set(waiting.map(({ id }) => id));
  return [
    ...waiting
      .filter(({ id }) => !known.has(id))
      .map((one) => ({ event: 'question', data: JSON.stringify(questionToJson(one)) })),
    ...[...known].filter((id) => !now.has(id)).map((id) => ({ event: 'gone', data: JSON.stringify({ id }) })),
  ];
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Cut short by the signal, which whoever waits looks at.
  await delay(ms, undefined, { signal }).catch(() => {});
}
