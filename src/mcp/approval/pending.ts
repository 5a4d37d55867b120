import type { ToolAnswer } from '../../operations/tools/tool.ts';

/** The id of the question that an answer waits for; undefined for every other answer. Pure. */
export function pendingQuestion({ isError, structured }: ToolAnswer): string | undefined {
  if (!isError) return undefined;
  const { code, details } = membersOf(structured['error']);
  const { id } = membersOf(details);
  return code === 'APPROVAL_PENDING' && typeof id === 'string' ? id : undefined;
}

/**
 * The same answer with all the ways to give an approval. None of them is open to whoever reads it here: they lead to a
 * person's own terminal, or to a console that asks for a key. Pure.
 */
export function withWaysToAnswer(answer: ToolAnswer, consoleAddress: string | undefined): ToolAnswer {
  const id = pendingQuestion(answer);
  if (id === undefined) return answer;
  const command = `glovebox approvals answer ${id}`;
  const address = consoleAddress === undefined ? undefined : `${consoleAddress}/approvals/${id}`;
  const where = `${address === undefined ? '' : `at ${address}, or `}in a terminal of their own with: ${command}`;
  return {
    ...answer,
    text: `${answer.text}\nOnly the user can answer, ${where}`,
    structured: {
      ...answer.structured,
      status: 'approval_pending',
      answer_with: { command, ...(address === undefined ? {} : { console: address }) },
    },
  };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
