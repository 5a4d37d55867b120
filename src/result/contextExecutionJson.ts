import type { ContextExecution } from './contextExecution.ts';
import { resultToJson, withoutUndefined } from './resultJson.ts';

/** The result of an execution in a context as every surface prints it, by the rules of `resultToJson`. */
export function contextExecutionToJson(execution: ContextExecution): Record<string, unknown> {
  const { results, resultsLeftOut, error, executionCount, ended } = execution;
  return withoutUndefined({
    ...resultToJson(execution),
    results,
    results_left_out: resultsLeftOut,
    error,
    execution_count: executionCount,
    ended,
  });
}
