import { isSandboxError, SandboxError } from '../errors.ts';
import type { Policy } from '../policy/policy.ts';
import { assertEnforceable } from './enforceable.ts';
import type { Capabilities, Runtime } from './runtime.ts';

export interface Choice {
  readonly runtime: Runtime;
  readonly version: string;
  readonly capabilities: Capabilities;
  /** What the caller should know about the choice: a fallback that was taken, a weaker state. */
  readonly warnings: readonly string[];
}

/**
 * Takes the wanted runtime, or refuses. The fallback is taken only where the operator configured one and the
 * wanted runtime is unavailable; what the policy asks for holds for it just the same.
 */
export async function chooseRuntime(
  wanted: () => Promise<Runtime>,
  fallback: (() => Promise<Runtime>) | undefined,
  policy: Policy,
  signal?: AbortSignal,
): Promise<Choice> {
  const warnings: string[] = [];
  let runtime: Runtime;
  try {
    runtime = await wanted();
    const probe = await runtime.probe(signal);
    if (!probe.available) {
      throw new SandboxError(
        'RUNTIME_UNAVAILABLE',
        `The runtime "${runtime.name}" does not work here: ${probe.reason}`,
        {
          hint: probe.fix,
          details: { runtime: runtime.name },
        },
      );
    }
    assertEnforceable(runtime.name, probe.capabilities, policy);
    return { runtime, version: probe.version, capabilities: probe.capabilities, warnings: probe.notes ?? [] };
  } catch (error) {
    if (fallback === undefined || !isSandboxError(error) || error.code !== 'RUNTIME_UNAVAILABLE') throw error;
    warnings.push(`${error.message} The configured fallback was used.`);
  }
  const choice = await chooseRuntime(fallback, undefined, policy, signal);
  return { ...choice, warnings: [...warnings, ...choice.warnings] };
}
