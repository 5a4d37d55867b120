/** What a gate tells while it decides: records that can be written as they are, without the bytes of any code. Pure. */
import type { Sight } from '../effects.ts';
import type { Outcome } from './ask.ts';
import type { Decision } from './decision.ts';
import type { Grant } from './grant.ts';
import { type Proposal, type Question, sha256 } from './question.ts';

/** `id` is that of the request, the same in all that one call of `decide` tells. */
export type GateEvent =
  | ReturnType<typeof questionEvent>
  | ReturnType<typeof answerEvent>
  | ReturnType<typeof decisionEvent>
  | ReturnType<typeof grantEvent>;

/** Before anybody is asked. */
export function questionEvent(requestId: string, question: Question, approvers: readonly string[]) {
  const { id, parameters, policy, sights, notInspected, risk, askedAt, expiresAt } = question;
  return {
    type: 'question' as const,
    ...{ id: requestId, question_id: id },
    ...proposalRecord(question, question.hash),
    ...{ parameters, policy, sights, not_inspected: notInspected ?? null, risk: riskRecord(risk) },
    ...{ approvers, asked_at: askedAt, expires_at: expiresAt },
  };
}

/** However asking ended. */
export function answerEvent(requestId: string, { id, hash }: Question, outcome: Outcome) {
  const { ended, seconds } = outcome;
  const answered = outcome.ended === 'answered' ? outcome : undefined;
  return {
    type: 'answer' as const,
    ...{ id: requestId, question_id: id, proposal_hash: hash, ended, seconds },
    answered_by: answered?.answeredBy ?? null,
    approved: answered?.answer.approved ?? false,
    reason: answered?.answer.approved === false ? (answered.answer.reason ?? null) : null,
    grant: answered?.answer.approved === true ? (answered.answer.grant ?? null) : null,
    failures: outcome.ended === 'answered' ? [] : outcome.failures,
  };
}

/** Before what was asked for is done, or refused. */
export function decisionEvent(
  decision: Decision,
  sights: readonly Sight[],
  notInspected: string | undefined,
) {
  const { id, proposal, hash, risk, verdict, because } = decision;
  const isDenied = decision.verdict === 'deny';
  const isByPerson = !isDenied && decision.by === 'person';
  const grantId = isDenied || decision.by === 'rules' ? undefined : decision.grantId;
  return {
    type: 'decision' as const,
    id,
    ...proposalRecord(proposal, hash),
    ...{ sights, not_inspected: notInspected ?? null, risk: riskRecord(risk), verdict },
    by: isDenied ? (decision.reason === 'answered' ? 'person' : decision.reason) : decision.by,
    because,
    answered_by: (isDenied || isByPerson ? decision.answeredBy : undefined) ?? null,
    grant_id: grantId ?? null,
    error_code: isDenied ? decision.code : null,
  };
}

/** `id` is null where no request was the reason. */
export function grantEvent(
  type: 'grant_given' | 'grant_used' | 'grant_revoked',
  grant: Grant,
  requestId: string | null = null,
) {
  const { id, scope, hash, operation, runtime, sandboxId, level, givenBy, givenAt, expiresAt, usesLeft } =
    grant;
  return {
    type,
    ...{ id: requestId, grant_id: id, scope, grant_hash: hash },
    ...{ operation, runtime, sandbox_id: sandboxId, level },
    ...{ given_by: givenBy, given_at: givenAt, expires_at: expiresAt, uses_left: usesLeft },
  };
}

function proposalRecord({ operation, code, runtime, sandboxId }: Proposal, hash: string) {
  return {
    ...{ proposal_hash: hash, operation, runtime, sandbox_id: sandboxId },
    code:
      code === undefined
        ? null
        : { language: code.language, sha256: sha256(code.bytes), bytes: code.bytes.length },
  };
}

function riskRecord({ level, ask, timeoutSec, rule, description }: Question['risk']) {
  return { level, ask, timeout_sec: timeoutSec, rule: rule ?? null, description };
}
