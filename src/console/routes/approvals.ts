import { isSandboxError, SandboxError } from '../../errors.ts';
import { answerFrom } from '../answerForm.ts';
import {
  approvalContent,
  approvalsContent,
  type Done,
  goneContent,
  grantsContent,
} from '../pages/approvals.ts';
import { parameter, type Site } from '../site.ts';

/** A yes in the last second may have come too late. */
const LATE_MS = 1000;

/** Questions and their answers, and the grants that came of them. */
export function approvalRoutes({ backend, now, look, act, show }: Site): void {
  look('/approvals', 'approve', async (context, who) => {
    const content = approvalsContent(await backend.questions(), context.req.query('done'));
    return show(context, who, { title: 'Approvals', section: '/approvals', content });
  });
  look('/approvals/:id', 'approve', async (context, who) => {
    try {
      const waiting = await backend.question(parameter(context, 'id'));
      const content = approvalContent(waiting, who.key, who.visitor);
      return await show(context, who, { title: 'Approval', section: '/approvals', content });
    } catch (error) {
      if (!isSandboxError(error) || error.code !== 'APPROVAL_EXPIRED') throw error;
      const content = goneContent(error.message);
      return show(context, who, { title: 'Too late', section: '/approvals', content }, 410);
    }
  });
  act('/approvals/:id', 'approve', async (context, { key }, form) => {
    const id = parameter(context, 'id');
    const { hash, answer, hasRead } = answerFrom(form);
    const { question, askedBy } = await backend.question(id);
    if (askedBy?.id === key.id) throw ownQuestion();
    if (answer.approved && question.risk.level === 'CRITICAL' && !hasRead) throw notRead();
    await backend.answer(id, hash, answer, key);
    const done: Done = !answer.approved
      ? 'denied'
      : Date.parse(question.expiresAt) - now() < LATE_MS
        ? 'late'
        : 'approved';
    return context.redirect(`/approvals?done=${done}`, 303);
  });

  look('/grants', 'approve', async (context, who) => {
    const content = grantsContent(await backend.grants(), who.visitor, context.req.query('done'));
    return show(context, who, { title: 'Grants', section: '/grants', content });
  });
  act('/grants/:id/revoke', 'approve', async (context, { key }) => {
    await backend.revoke(parameter(context, 'id'), key);
    return context.redirect('/grants?done=revoked' satisfies `/grants?done=${Done}`, 303);
  });
}

function ownQuestion(): SandboxError {
  return new SandboxError('FORBIDDEN', 'This was asked with the key that you are signed in with.', {
    hint: 'Sign in with another one to answer it.',
  });
}

function notRead(): SandboxError {
  return new SandboxError(
    'INPUT_INVALID',
    'So grave a risk is approved only by who says to have read all of it.',
    {
      hint: 'Go back, read it, and tick the box above the button.',
    },
  );
}
