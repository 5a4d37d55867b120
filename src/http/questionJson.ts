import type { Grant, Question } from '../operations/approvals.ts';
import { withoutUndefined } from '../result/resultJson.ts';

/** A question as it is sent: whole, the bytes of its code in base64. */
export function questionToJson(question: Question): Readonly<Record<string, unknown>> {
  const { id, hash, operation, runtime, sandboxId, sandboxInstance, code, parameters, policy } = question;
  const { unknownContent, sights, notInspected, risk, askedBy, askedAt, expiresAt } = question;
  return withoutUndefined({
    ...{ id, hash, operation, runtime, sandbox_id: sandboxId, sandbox_instance: sandboxInstance },
    code: code && { language: code.language, base64: Buffer.from(code.bytes).toString('base64') },
    ...{ parameters, policy, unknown_content: unknownContent },
    sights: sights.map(({ effect, name, line, why, isDangerous }) => ({
      ...{ effect, name, line, why, is_dangerous: isDangerous },
    })),
    not_inspected: notInspected,
    risk: withoutUndefined({ level: risk.level, rule: risk.rule, description: risk.description }),
    ...{ asked_by: askedBy, asked_at: askedAt, expires_at: expiresAt },
  });
}

export function grantToJson(grant: Grant): Readonly<Record<string, unknown>> {
  const { id, scope, operation, runtime, sandboxId, level, givenBy, givenAt, expiresAt, usesLeft } = grant;
  return {
    ...{ id, scope, operation, runtime, sandbox_id: sandboxId, level, given_by: givenBy },
    ...{ given_at: givenAt, expires_at: expiresAt, uses_left: usesLeft },
  };
}
