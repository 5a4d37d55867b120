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
export type * from './runtimes/runtime.ts';
export type { ExecutionMeta, ExecutionResult, Finding, Outcome } from './sandbox/result.ts';
export { resultToJson } from './sandbox/resultJson.ts';
export type { OnOutput, OutputChunk } from './sandbox/run.ts';
export type { FileContent } from './sandbox/sandbox.ts';
