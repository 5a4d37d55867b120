import type { ExecutionResult } from '../result/result.ts';
import { type Followed, missedWarnings } from './execution.ts';

/** A result that also says how much of the output came too late to be told. */
export function withMissed<Result extends ExecutionResult>({ result, missed }: Followed<Result>): Result {
  const warnings = missedWarnings(missed);
  if (warnings.length === 0) return result;
  return { ...result, meta: { ...result.meta, warnings: [...(result.meta.warnings ?? []), ...warnings] } };
}
