import { chooseRuntime } from '../runtimes/choose.ts';
import type { Context } from './context.ts';
import { shownLanguages } from './execute.ts';
import { prepare } from './job.ts';
import type { ExecuteOptions } from './options.ts';
import { policyFor } from './policy.ts';
import type { WarmedUp } from './warmth.ts';

/**
 * Makes sandboxes ready for executions with these options, and resolves when as many wait as there always are. Throws what
 * such an execution would throw before anything runs.
 */
export async function warmUp(context: Context, options: ExecuteOptions): Promise<WarmedUp> {
  if (context.warmth === undefined) return { because: 'No sandboxes are kept ready here.' };
  const policyOf = (runtime: string) => policyFor(context, options, runtime).policy;
  const prepared = prepare(context, { code: '' }, options, {
    timeoutSec: policyOf(context.runtimeName).limits.timeoutSec.value,
    lifetime: 'single',
  });
  const choice = await chooseRuntime(context.runtime, context.fallback, policyOf, options.signal);
  const languages = shownLanguages(context, prepared.language, choice.policy);
  return context.warmth.warmUp({ choice, languages, prepared });
}
