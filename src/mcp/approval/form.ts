/** What a client shows for a question, and what its answer means. Pure. */
import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import { type Answer, type Question, showProposal } from '../../operations/approvals.ts';

const ONCE = 'approve this once';
const AGAIN = 'approve, and exactly this again in this session for an hour';
const DENY = 'deny';

const HOUR_SEC = 3600;

/** What is longer a client would cut, or nobody would read in its window: that is asked elsewhere. */
const MAX_CHARACTERS = 12_000;
const MAX_LINES = 300;

const COLUMNS = 100;

/** The whole question as plain text; undefined where it is too long for a window. */
export function approvalForm(question: Question): ElicitRequestFormParams | undefined {
  const shown = showProposal(question, { width: COLUMNS, colours: false });
  const lines = [...shown, `Hash ${question.hash}`];
  const message = lines.join('\n');
  if (lines.length > MAX_LINES || message.length > MAX_CHARACTERS) return undefined;
  const decisions = question.unknownContent === undefined ? [ONCE, AGAIN, DENY] : [ONCE, DENY];
  return {
    mode: 'form',
    message,
    requestedSchema: {
      type: 'object',
      properties: { decision: { type: 'string', title: 'May this be done?', enum: decisions } },
      required: ['decision'],
    },
  };
}

/** A yes only where it is nothing but a yes. */
export function answerOf(result: unknown): Answer {
  const { action, content } = membersOf(result);
  if (action === 'decline') return no('A person declined in the client.');
  if (action === 'cancel') return no('The question was closed in the client.');
  const { decision, ...others } = membersOf(content);
  if (action !== 'accept' || Object.keys(others).length > 0) return no(MALFORMED);
  if (decision === ONCE) return { approved: true };
  if (decision === AGAIN) return { approved: true, grant: { scope: 'exact', forSec: HOUR_SEC } };
  return no(decision === DENY ? 'A person said no in the client.' : MALFORMED);
}

const MALFORMED = 'The client sent an answer that is none.';

function no(reason: string): Answer {
  return { approved: false, reason };
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
