/** What is recorded of sandboxes that live on, and of what is done in them besides running code. */
import { randomUUID } from 'node:crypto';
import type { DecisionListeners, NetworkDecision } from '../../egress/decision.ts';
import type { Operation } from '../../gate/risk.ts';
import type { Policy } from '../../policy/policy.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { OnDecision } from '../../sandbox/sandboxNetwork.ts';
import type { Context } from '../context.ts';
import { instanceOf } from './instanceOf.ts';
import type { Seen } from './oversight.ts';
import { eventRedactor } from './recordable.ts';

interface OnNetwork {
  readonly onNetwork?: OnDecision;
}

/**
 * Records each decision about a network, with what it is about: that is asked when there is one. What may pass is recorded
 * before it does, and its end with what passed.
 */
export function decisionsTo(
  { oversight }: Context,
  about: () => { readonly id?: string; readonly sandbox_id: string | null },
  { onNetwork }: OnNetwork,
  secrets: readonly string[],
): DecisionListeners {
  if (oversight === undefined) return onNetwork === undefined ? {} : { onDecision: onNetwork };
  const redacted = eventRedactor(secrets);
  return {
    onPassing: ({ at, ...told }) =>
      oversight.recordFirst(
        redacted({ type: 'network', ...about(), decided_at: at, ...told, allowed: true }),
      ),
    onDecision: (decision, passing) => {
      const { at, ...told } = describeDecision(decision);
      const event =
        passing === undefined
          ? { type: 'network' as const, ...about(), decided_at: at, ...told }
          : { type: 'network_closed' as const, ...about(), connection: passing.connection, ...told };
      oversight.recordSoon(redacted(event));
      onNetwork?.(decision);
    },
  };
}

/** What a sandbox is made with. */
export interface Making {
  readonly runtime: string;
  readonly policy: Policy;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The values of its variables. */
  readonly secrets: readonly string[];
  /** What runs in it. */
  readonly executions: ReadonlySet<Promise<unknown>>;
  /** Withdraws the question, too. */
  readonly signal?: AbortSignal | undefined;
}

/** Makes a sandbox, and resolves to when its end is recorded as well; one that cannot be recorded is gone again. */
export async function makeRecorded(
  { oversight }: Context,
  make: () => Promise<Sandbox>,
  { runtime, policy, parameters, secrets, executions, signal }: Making,
): Promise<{ readonly sandbox: Sandbox; readonly endRecorded: Promise<void> }> {
  if (oversight === undefined) return { sandbox: await make(), endRecorded: Promise.resolve() };
  const { describePolicy, describeSandbox } = await import('./describe.ts');
  const id = randomUUID();
  const passage = oversight.request({
    id,
    operation: 'create_sandbox',
    sandboxId: null,
    parameters,
    secrets,
    signal,
  });
  let made: Sandbox | undefined;
  try {
    const sandbox = await passage.through(
      () => ({ runtime, policy: describePolicy(policy) }),
      async () => {
        made = await make();
        await oversight.record({
          type: 'sandbox_created',
          id,
          sandbox_id: made.id,
          ...describeSandbox(made),
        });
        return made;
      },
      (sandbox) => ({ sandbox_id: sandbox.id }),
    );
    const endRecorded = sandbox.whenEnded.then(async ({ reason, message }) => {
      await Promise.allSettled(executions);
      try {
        await oversight.record(
          eventRedactor(secrets)({ type: 'sandbox_ended', sandbox_id: sandbox.id, reason, message }),
        );
      } finally {
        await oversight.gate?.endSandbox(sandbox.id);
      }
    });
    // Whoever closes it is told.
    endRecorded.catch(() => {});
    return { sandbox, endRecorded };
  } catch (error) {
    await made?.close();
    throw error;
  }
}

/** What is asked for besides running code. */
export interface Wish {
  readonly parameters: Readonly<Record<string, unknown>>;
  /** What is written. */
  readonly content?: { readonly bytes: Uint8Array };
  /** What is brought along that nobody has read yet, as a sentence. */
  readonly unknownContent?: string;
  /** Withdraws the question. */
  readonly signal?: AbortSignal | undefined;
  /** What is seen in the code that is written; asked where somebody decides. */
  look?(): Promise<Seen>;
}

/** `recorded`, in one sandbox. */
export type Operate = <T>(
  operation: Operation,
  wish: () => Wish,
  action: () => Promise<T>,
  describe?: (value: T) => Readonly<Record<string, unknown>>,
) => Promise<T>;

/** A sandbox that something is done in, and its variables. */
interface Recordable {
  readonly sandbox: Pick<Sandbox, 'id' | 'runtime' | 'policy'>;
  readonly env: Readonly<Record<string, string>>;
}

/** One thing that is done in a sandbox besides running code: decided, and recorded before and after, where asked for. */
export async function recorded<T>(
  { oversight }: Context,
  { sandbox, env }: Recordable,
  operation: Operation,
  wish: () => Wish,
  action: () => Promise<T>,
  describe?: (value: T) => Readonly<Record<string, unknown>>,
): Promise<T> {
  if (oversight === undefined) return action();
  const { describePolicy } = await import('./describe.ts');
  const { id: sandboxId, runtime, policy } = sandbox;
  const { parameters, content, unknownContent, signal, look } = wish();
  const passage = oversight.request({
    ...{ id: randomUUID(), operation, sandboxId, sandboxInstance: instanceOf(sandbox) },
    ...{ parameters, unknownContent, signal, secrets: Object.values(env) },
    ...(content === undefined ? {} : { code: { language: null, bytes: content.bytes } }),
  });
  if (oversight.gate !== undefined && look !== undefined) passage.saw(await look());
  return passage.through(() => ({ runtime, policy: describePolicy(policy) }), action, describe);
}

function describeDecision(
  decision: NetworkDecision,
): { readonly at: string } & Readonly<Record<string, unknown>> {
  const { bytesUp, bytesDown, durationSec, ...told } = decision;
  return { ...told, bytes_up: bytesUp, bytes_down: bytesDown, duration_sec: durationSec };
}
