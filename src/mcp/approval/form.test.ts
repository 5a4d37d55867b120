import { describe, expect, it } from 'vitest';
import { questionOf } from '../../../tests/approval/questions.ts';
import { answerOf, approvalForm } from './form.ts';
import { pendingQuestion, withWaysToAnswer } from './pending.ts';

describe('the form of a question', () => {
  it('shows all of it, and what cannot be seen as what it is', () => {
    const form = approvalForm(questionOf({ text: 'print(1) # \u202e\u001b[2J' }));
    expect(form?.message).toContain('print(1) # ⟦U+202E⟧⟦U+001B⟧[2J');
    expect(form?.message).toContain(questionOf({ text: 'print(1) # \u202e\u001b[2J' }).hash);
    expect(form?.requestedSchema).toMatchObject({ required: ['decision'] });
  });

  it('offers no yes for longer to what nobody has read', () => {
    const offered = (question = questionOf()): unknown =>
      approvalForm(question)?.requestedSchema.properties['decision'];
    expect(offered()).toMatchObject({ enum: [expect.any(String), expect.any(String), 'deny'] });
    expect(offered(questionOf({ unknownContent: 'An archive.' }))).toMatchObject({
      enum: ['approve this once', 'deny'],
    });
  });

  it('is none where the question is too long, in lines or in characters', () => {
    expect(approvalForm(questionOf({ text: 'x = 1\n'.repeat(100) }))).toBeDefined();
    expect(approvalForm(questionOf({ text: 'x = 1\n'.repeat(400) }))).toBeUndefined();
    expect(approvalForm(questionOf({ text: `x = '${'x'.repeat(20_000)}'` }))).toBeUndefined();
  });
});

describe('an answer', () => {
  const accepted = (content: unknown) => answerOf({ action: 'accept', content });

  it('is a yes for what was offered', () => {
    expect(accepted({ decision: 'approve this once' })).toEqual({ approved: true });
    expect(accepted({ decision: 'approve, and exactly this again in this session for an hour' })).toEqual({
      approved: true,
      grant: { scope: 'exact', forSec: 3600 },
    });
  });

  it.each([
    [undefined],
    [null],
    ['accept'],
    [{}],
    [{ action: 'accept' }],
    [{ action: 'accept', content: null }],
    [{ action: 'accept', content: { decision: true } }],
    [{ action: 'accept', content: { decision: ['approve this once'] } }],
    [{ action: 'accept', content: { decision: 'Approve this once' } }],
    [{ action: 'accept', content: { decision: 'approve this once', more: 1 } }],
    [{ action: 'decline', content: { decision: 'approve this once' } }],
    [{ action: 'cancel', content: { decision: 'approve this once' } }],
    [{ action: 'yes', content: { decision: 'approve this once' } }],
  ])('is a no for %j', (result) => {
    expect(answerOf(result)).toEqual({ approved: false, reason: expect.any(String) });
  });
});

describe('an answer that waits for a person', () => {
  const pending = {
    ...{ text: 'Error (APPROVAL_PENDING): …', pictures: [], isError: true },
    structured: { error: { code: 'APPROVAL_PENDING', details: { id: '0123456789abcdef' } } },
  };

  it('says where the person answers', () => {
    const command = 'glovebox approvals answer 0123456789abcdef';
    const told = withWaysToAnswer(pending, 'http://127.0.0.1:8080');
    expect(told.text).toBe(
      `${pending.text}\nOnly the user can answer, at http://127.0.0.1:8080/approvals/0123456789abcdef, or in a terminal of their own with: ${command}`,
    );
    expect(told.structured).toEqual({
      ...pending.structured,
      status: 'approval_pending',
      answer_with: { command, console: 'http://127.0.0.1:8080/approvals/0123456789abcdef' },
    });
    expect(withWaysToAnswer(pending, undefined).structured['answer_with']).toEqual({ command });
  });

  it('is no other answer', () => {
    for (const other of [
      { ...pending, isError: false },
      { ...pending, structured: {} },
    ]) {
      expect(pendingQuestion(other)).toBeUndefined();
      expect(withWaysToAnswer(other, 'http://127.0.0.1')).toBe(other);
    }
  });
});
