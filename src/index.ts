export { type ConnectOptions, connect, type RemoteSandboxManager } from './client/connect.ts';
export type { NetworkDecision } from './egress/decision.ts';
export { ERROR_CODES, type ErrorCode, isSandboxError, SandboxError } from './errors.ts';
export { Gate, type GateOptions } from './gate/approval/gate.ts';
export type { Grant } from './gate/approval/grant.ts';
export type {
  Answer,
  Approver,
  GrantScope,
  GrantWish,
  Proposal,
  Question,
} from './gate/approval/question.ts';
export { questionHtml } from './gate/approval/show/questionHtml.ts';
export type { Effect, Sight } from './gate/effects.ts';
export {
  type Condition,
  type Operation,
  RISK_LEVELS,
  type Risk,
  type RiskLevel,
  type RiskRule,
} from './gate/risk.ts';
export { type PresetName, presetRules } from './gate/rules.ts';
export type { RegistryName } from './languages/installers/installer.ts';
export { LANGUAGE_NAMES, type LanguageName } from './languages/language.ts';
export { runCode, runPythonCode } from './operations/agentTools.ts';
export type { BackgroundJob, BackgroundProcess } from './operations/backgroundProcess.ts';
export type {
  BatchEnd,
  BatchEntry,
  BatchOptions,
  BatchProgram,
  BatchSummary,
} from './operations/batch/batch.ts';
export { type ExecuteManyOptions, executeMany } from './operations/batch/executeMany.ts';
export type { CellOptions, ContextOptions, SandboxContext } from './operations/contexts.ts';
export type { DryRun, DryRunOptions } from './operations/dryRun/dryRun.ts';
export type { Effects, FileEffect, FileState, HostEffect } from './operations/dryRun/effects.ts';
export {
  type GetSandboxOptions,
  getSandbox,
  type OneShotSandbox,
  type PooledSandbox,
  type SandboxOptions,
} from './operations/getSandbox.ts';
export type { InstallOptions } from './operations/installPackage.ts';
export {
  type CreateSandboxOptions,
  createSandbox,
  type LifeOptions,
  type LiveSandbox,
} from './operations/liveSandbox.ts';
export type {
  ExecOptions,
  ExecuteOptions,
  LiveRunOptions,
  PolicyOptions,
  RunOptions,
  StartOptions,
  WaitForLineOptions,
  WaitOptions,
} from './operations/options.ts';
export {
  type ManagedSandboxOptions,
  type ManagerEvent,
  SandboxManager,
  type SandboxManagerOptions,
} from './operations/sandboxManager.ts';
export type {
  ProcessHandle,
  SandboxHandle,
  SandboxInfo,
  SandboxLimits,
  SandboxService,
  ServiceSandboxOptions,
} from './operations/sandboxService.ts';
export type {
  WarmEvent,
  WarmedUp,
  WarmKindState,
  WarmOptions,
  WarmPoolState,
  WarmTotals,
} from './operations/warmth.ts';
export { ISOLATION_LEVELS, type IsolationLevel } from './policy/isolation.ts';
export type {
  LimitName,
  NetworkMode,
  Policy,
  Requirements,
  WantedLimit,
  WantedLimits,
} from './policy/policy.ts';
export type {
  ContextDetails,
  ContextError,
  ContextExecution,
  RichResult,
} from './result/contextExecution.ts';
export type { InstallResult } from './result/installResult.ts';
export type { OnOutput, OutputChunk } from './result/output.ts';
export type { ExecutionMeta, ExecutionResult, Finding, NetworkRecord, Outcome } from './result/result.ts';
export { resultFromJson } from './result/resultFromJson.ts';
export { resultToJson } from './result/resultJson.ts';
export type * from './runtimes/runtime.ts';
export type { ProcessStatus } from './sandbox/background.ts';
export type { EndReason, SandboxEnd } from './sandbox/ended.ts';
export type { OutputLine } from './sandbox/lines.ts';
export type { OutputPage, PageRequest, StreamName } from './sandbox/outputPage.ts';
export type { Forwarding } from './sandbox/ports.ts';
export type { FileContent } from './sandbox/sandbox.ts';
export type {
  DownloadOptions,
  TransferOptions,
  TransferProgress,
  Transferred,
  UploadFromOptions,
  UploadOptions,
} from './sandbox/transfer.ts';
