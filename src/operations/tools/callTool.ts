import { randomUUID } from 'node:crypto';
import type { Context } from '../context.ts';

/** A call of a tool that somebody else wrote. */
export interface ForeignCall {
  /** As the model knows it. */
  readonly tool: string;
  /** Who supplies it, for a person: a file, or a server. */
  readonly from: string;
  /** What the model gave; JSON. */
  readonly input: unknown;
  /** What must not stand in the record. */
  readonly secrets?: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls a tool that runs outside of any sandbox, as this user: decided, and recorded before and after, where asked for.
 * Rejects with `APPROVAL_DENIED` where it may not be called, and with what the tool rejects with.
 */
export async function callTool<T>(
  { oversight }: Context,
  { tool, from, input, secrets = [], signal }: ForeignCall,
  action: () => Promise<T>,
): Promise<T> {
  if (oversight === undefined) return action();
  const passage = oversight.request({
    ...{ id: randomUUID(), operation: 'call_tool', sandboxId: null },
    ...{ parameters: { tool, from, input }, secrets, signal },
  });
  return passage.through(() => ({ runtime: 'none' }), action);
}
