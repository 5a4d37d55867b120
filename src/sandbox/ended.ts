import { SandboxError } from '../errors.ts';

/** Why a live sandbox is no more. */
export type EndReason = 'closed' | 'expired' | 'idle' | 'crashed' | 'manager_closed';

export interface SandboxEnd {
  readonly reason: EndReason;
  /** ISO 8601. */
  readonly at: string;
  /** One sentence for people and models. */
  readonly message: string;
}

const HINTS: Readonly<Record<EndReason, string>> = {
  closed: 'Make a new one.',
  expired: 'Make a new one; it lives longer with a larger lifetime (SANDBOX_LIFETIME_SEC).',
  idle: 'Make a new one; it waits longer with a larger idleTimeout (SANDBOX_IDLE_TIMEOUT_SEC).',
  crashed: 'Make a new one; its files are gone. Run: glovebox doctor',
  manager_closed: 'Make a new manager.',
};

/** What every call on a sandbox throws that has ended. */
export function closedError(id: string, end: SandboxEnd, cause?: unknown): SandboxError {
  return new SandboxError('SANDBOX_CLOSED', `The sandbox ${id} has ended. ${end.message}`, {
    hint: HINTS[end.reason],
    details: { sandboxId: id, reason: end.reason, at: end.at },
    cause,
  });
}
