import { isSandboxError, SandboxError } from '../errors.ts';
import type { Policy } from '../policy/policy.ts';
import { assertEnforceable } from './enforceable.ts';
import type { Capabilities, Runtime } from './runtime.ts';

export interface Choice {
  readonly runtime: Runtime;
  readonly version: string;
  readonly capabilities: Capabilities;
  /** What holds on this runtime. */
  readonly policy: Policy;
  /** The name of the runtime that was wanted, where the configured fallback takes its place. */
  readonly fallbackFrom?: string;
  /** What the caller should know about the choice: a fallback that was taken, a weaker state. */
  readonly warnings: readonly string[];
}

/** The runtime that the operator configured for when the wanted one is unavailable. */
export interface Fallback {
  /** The name of the wanted one. */
  readonly insteadOf: string;
  readonly load: () => Promise<Runtime>;
}

/** A policy, or the policy for each runtime by its name: defaults differ. */
export type PolicyOf = Policy | ((runtime: string) => Policy);

/**
 * Takes the wanted runtime, or refuses. The fallback is taken only where the operator configured one and the
 * wanted runtime is unavailable; what was asked for holds for it just the same, beside its own defaults.
 */
export async function chooseRuntime(
  wanted: () => Promise<Runtime>,
  fallback: Fallback | undefined,
  policy: PolicyOf,
  signal?: AbortSignal,
): Promise<Choice> {
  try {
    return await take(wanted, policy, signal);
  } catch (error) {
    if (fallback === undefined || !isSandboxError(error) || error.code !== 'RUNTIME_UNAVAILABLE') throw error;
    return takeInstead(fallback, error, policy, signal);
  }
}

async function take(
  load: () => Promise<Runtime>,
  policyOf: PolicyOf,
  signal: AbortSignal | undefined,
): Promise<Choice> {
  const runtime = await load();
  const probe = await runtime.probe(signal);
  if (!probe.available) {
    throw new SandboxError(
      'RUNTIME_UNAVAILABLE',
      `The runtime "${runtime.name}" does not work here: ${probe.reason}`,
      { hint: probe.fix, details: { runtime: runtime.name } },
    );
  }
  const policy = typeof policyOf === 'function' ? policyOf(runtime.name) : policyOf;
  const { version, capabilities, notes = [], whyNotMore } = probe;
  assertEnforceable(runtime.name, capabilities, policy, whyNotMore);
  return { runtime, version, capabilities, policy, warnings: notes };
}

async function takeInstead(
  { insteadOf, load }: Fallback,
  unavailable: SandboxError,
  policy: PolicyOf,
  signal: AbortSignal | undefined,
): Promise<Choice> {
  try {
    const choice = await take(load, policy, signal);
    const warning = `${unavailable.message} The configured fallback "${choice.runtime.name}" was used.`;
    return { ...choice, fallbackFrom: insteadOf, warnings: [warning, ...choice.warnings] };
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    throw new SandboxError(
      error.code,
      `${unavailable.message} The configured fallback cannot take its place: ${error.message}`,
      {
        hint: [...new Set([unavailable.hint, error.hint])].join(' '),
        details: { ...error.details, fallbackFrom: insteadOf },
        cause: error,
      },
    );
  }
}
