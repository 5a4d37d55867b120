import { chooseRuntime } from '../runtimes/choose.ts';
import type { Context } from './context.ts';
import { policyFor } from './policy.ts';

/**
 * Throws at once what every execution would throw: a runtime that is unknown, does not work here, or cannot hold what the
 * settings ask for. Nothing is started.
 */
export async function assertReady(context: Context, signal?: AbortSignal): Promise<void> {
  const policyOf = (runtime: string) => policyFor(context, {}, runtime).policy;
  await chooseRuntime(context.runtime, context.fallback, policyOf, signal);
}
