import type { ServerContext } from '@modelcontextprotocol/server';
import type { Asker } from './elicitationApprover.ts';

/** The longest that is waited; the signal of a question comes earlier. */
const A_DAY_MS = 24 * 3600 * 1000;

/**
 * Asks a client of 2025, by a request of our own within the call. The window is closed when the question is answered
 * elsewhere or its time is over.
 */
export function pushedQuestions({ mcpReq }: Pick<ServerContext, 'mcpReq'>): Asker {
  return {
    ask: (form, signal) =>
      mcpReq.send({ method: 'elicitation/create', params: { ...form } }, { signal, timeout: A_DAY_MS }),
  };
}
