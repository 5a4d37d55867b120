/** What an operation resolves to, as an execution of the server ends with it. */
import type { ContextExecution } from '../result/contextExecution.ts';
import { contextExecutionToJson } from '../result/contextExecutionJson.ts';
import type { InstallResult } from '../result/installResult.ts';
import { installResultToJson } from '../result/installResultJson.ts';
import type { ExecutionResult } from '../result/result.ts';
import { resultToJson } from '../result/resultJson.ts';
import type { Ended, Summary } from './executions.ts';

export function endedWith(result: ExecutionResult): Ended {
  return { json: JSON.stringify(resultToJson(result)), result, summary: summaryOf(result) };
}

export function cellEndedWith(result: ContextExecution): Ended {
  return { json: JSON.stringify(contextExecutionToJson(result)), result, summary: summaryOf(result) };
}

export function installationEndedWith(result: InstallResult): Ended {
  const { outcome, duration } = result;
  const summary = { outcome, language: null, durationSec: duration, cpuSec: duration };
  return { json: JSON.stringify(installResultToJson(result)), summary };
}

/** Where nobody can tell the processor time, all of the time counts: whoever asked had it. */
function summaryOf({ outcome, duration, meta, files = {} }: ExecutionResult): Summary {
  return {
    ...{ outcome, language: meta.language, durationSec: duration },
    cpuSec: meta.usage?.cpuSec ?? duration,
    fileBytes: Object.values(files).reduce((total, { length }) => total + length, 0),
  };
}
