import type { ContextDetails, ContextError, ContextExecution, RichResult } from './contextExecution.ts';
import { type JsonOf, resultToJson, withoutUndefined } from './resultJson.ts';

/** The result of one execution in a context as every surface prints it, by the rules of `resultToJson`. */
export function contextExecutionToJson(execution: ContextExecution): Record<string, unknown> {
  return {
    ...resultToJson(execution),
    ...withoutUndefined({
      results: execution.results.map(richResultToJson),
      results_left_out: execution.resultsLeftOut,
      error: execution.error && contextErrorToJson(execution.error),
      execution_count: execution.executionCount,
      ended: execution.ended,
    } satisfies JsonOf<ContextDetails>),
  };
}

/** One value that was given back or shown; the keys of `json` and `extra` are the program's own. */
export function richResultToJson(result: RichResult): Record<string, unknown> {
  return withoutUndefined({
    type: result.type,
    text: result.text,
    html: result.html,
    json: result.json,
    markdown: result.markdown,
    latex: result.latex,
    png: result.png,
    jpeg: result.jpeg,
    svg: result.svg,
    extra: result.extra,
    notes: result.notes,
  } satisfies JsonOf<RichResult>);
}

function contextErrorToJson({ name, value, traceback }: ContextError): Record<string, unknown> {
  return { name, value, traceback } satisfies JsonOf<ContextError>;
}
