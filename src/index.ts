export { ERROR_CODES, type ErrorCode, isSandboxError, SandboxError } from './errors.ts';
export { LANGUAGE_NAMES, type LanguageName } from './languages/language.ts';
export { runCode, runPythonCode } from './operations/agentTools.ts';
export { getSandbox, type OneShotSandbox, type SandboxOptions } from './operations/getSandbox.ts';
export { type CreateSandboxOptions, createSandbox, type LiveSandbox } from './operations/liveSandbox.ts';
export type { ExecuteOptions, PolicyOptions, RunOptions } from './operations/options.ts';
export { ISOLATION_LEVELS, type IsolationLevel } from './policy/isolation.ts';
export type {
  LimitName,
  NetworkMode,
  Policy,
  Requirements,
  WantedLimit,
  WantedLimits,
} from './policy/policy.ts';
export type { OnOutput, OutputChunk } from './result/output.ts';
export type { ExecutionMeta, ExecutionResult, Finding, Outcome } from './result/result.ts';
export { resultToJson } from './result/resultJson.ts';
export type * from './runtimes/runtime.ts';
export type { FileContent } from './sandbox/sandbox.ts';
