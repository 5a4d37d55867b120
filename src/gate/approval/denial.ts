/** Why something was denied, in sentences. Pure. */

import { SandboxError } from '../../errors.ts';
import type { Risk } from '../risk.ts';
import type { Outcome } from './ask.ts';
import type { Question } from './question.ts';

const MAX_QUOTED_CHARACTERS = 300;

/** What a model and a person are told of an outcome that is no yes, with what to do next. */
export function denialOf(outcome: Outcome, risk: Risk): string {
  const needed = `This needs the approval of a person (${risk.description} Risk: ${risk.level}.)`;
  switch (outcome.ended) {
    case 'answered': {
      const { answer, answeredBy } = outcome;
      const reason = answer.approved ? undefined : answer.reason;
      const said = reason === undefined ? '' : `: "${quoted(reason)}"`;
      return `A person was asked (${quoted(answeredBy)}) and said no${said}. Nothing was done. Do not ask for the same again: take another way, or ask what would be allowed.`;
    }
    case 'no_answer':
      return outcome.tooLateBy === undefined
        ? `${needed}, and nobody answered within ${risk.timeoutSec} seconds. Nothing was done. Ask again when somebody is there to answer.`
        : `${needed}, and the answer (${quoted(outcome.tooLateBy)}) came after the ${risk.timeoutSec} seconds that it had. Nothing was done. Ask again.`;
    case 'nobody_to_ask':
      return `${needed}, and there is nobody here who can be asked. Nothing was done. The operator can let people answer with \`glovebox approvals\`, or say with SANDBOX_GATE what needs an approval (strict, ask-on-danger or trusted).`;
    case 'failed': {
      const failures = outcome.failures.map(
        ({ approver, message }) => `${quoted(approver)}: ${quoted(message)}`,
      );
      return `${needed}, and nobody could be asked (${failures.join('; ')}). Nothing was done. Ask again when that is mended; the operator can let people answer with \`glovebox approvals\`, or say with SANDBOX_GATE what needs an approval.`;
    }
    case 'cancelled':
      return `${needed}, and the request was cancelled before anybody answered. Nothing was done. Ask again if it is still wanted.`;
  }
}

/** Text of others on one line, without characters that are not seen. */
function quoted(text: string): string {
  const plain = text
    .slice(0, MAX_QUOTED_CHARACTERS * 2)
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim();
  return plain.length > MAX_QUOTED_CHARACTERS ? `${plain.slice(0, MAX_QUOTED_CHARACTERS)}…` : plain;
}

/** What is thrown where a person was asked and whoever asks does not wait any longer. */
export function pendingError({ id, hash, expiresAt, risk }: Question): SandboxError {
  return new SandboxError(
    'APPROVAL_PENDING',
    `This needs the approval of a person (${risk.description} Risk: ${risk.level}.), who has been asked and has not answered yet. Nothing was done.`,
    {
      hint: `Have a person answer the question ${id} until ${expiresAt} (glovebox approvals answer ${id}), then ask for exactly the same again.`,
      details: { id, hash, expiresAt, risk: risk.level },
    },
  );
}
