/** Results as they are handed out. */
import type { Recorded } from '../egress/recording.ts';
import type { Denied } from '../gate/approval/decision.ts';
import type { LimitName, Policy } from '../policy/policy.ts';
import type { ExecutionMeta, ExecutionResult, NetworkRecord } from '../result/result.ts';
import type { Enforced, ProgramLimits } from '../runtimes/runtime.ts';
import type { Program, ProgramOutcome } from '../sandbox/program.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { packageVersion } from '../version.ts';
import type { Context } from './context.ts';
import { blockedMessage, type Checked } from './inspection.ts';
import type { Prepared } from './job.ts';

/** Why code is not run, as the outcome says it and as whoever wrote it is told. */
export interface Refusal {
  readonly outcome: 'blocked' | 'denied';
  readonly message: string;
}

/** Because of what it imports; undefined where that is no reason. */
export function blockOf(inspection: Checked): Refusal | undefined {
  return inspection.blocked ? { outcome: 'blocked', message: blockedMessage(inspection) } : undefined;
}

/** Because no person has approved it; undefined where that is no reason. */
export function denialOf(denied: Denied | undefined): Refusal | undefined {
  return denied && { outcome: 'denied', message: denied.because };
}

/** The result of code that was not run. */
export function refused(
  context: Context,
  prepared: Prepared,
  inspection: Checked,
  refusal: Refusal,
  policy: Policy,
  warnings: readonly string[],
): ExecutionResult {
  const message = `${refusal.message}\n`;
  return {
    stdout: '',
    stderr: message,
    exitCode: 1,
    duration: 0,
    truncated: false,
    timedOut: false,
    outcome: refusal.outcome,
    ok: false,
    meta: {
      ...commonMeta(prepared, inspection, warnings),
      runtime: context.runtimeName,
      enforced: null,
      truncated: false,
      timedOut: false,
      resourceLimits: resourceLimits(policy, prepared),
      stdoutBytes: 0,
      stderrBytes: Buffer.byteLength(message),
      versions: { glovebox: packageVersion(), node: process.versions.node },
      sandboxId: null,
    },
  };
}

/** The result of a program that ran. */
export function assemble(
  prepared: Prepared,
  inspection: Checked,
  sandbox: Sandbox,
  outcome: ProgramOutcome,
  warnings: readonly string[],
): ExecutionResult {
  const truncated = outcome.stdout.truncated || outcome.stderr.truncated;
  const timedOut = outcome.outcome === 'timed_out';
  const { ended } = sandbox;
  const notes =
    ended !== undefined && outcome.outcome === 'killed'
      ? [...warnings, `The sandbox ended while this ran. ${ended.message}`]
      : warnings;
  return {
    stdout: outcome.stdout.text,
    stderr: outcome.stderr.text,
    exitCode: outcome.exitCode,
    duration: outcome.durationSec,
    truncated,
    timedOut,
    outcome: outcome.outcome,
    ok: outcome.outcome === 'exited' && outcome.exitCode === 0,
    ...(outcome.files === undefined ? {} : { files: outcome.files }),
    meta: {
      ...commonMeta(prepared, inspection, notes),
      runtime: sandbox.runtime,
      enforced: forProgram(sandbox.enforced, prepared.program),
      truncated,
      timedOut,
      resourceLimits: resourceLimits(sandbox.policy, prepared),
      stdoutBytes: outcome.stdout.bytes,
      stderrBytes: outcome.stderr.bytes,
      versions: {
        glovebox: packageVersion(),
        node: process.versions.node,
        runtime: sandbox.runtimeVersion,
        ...(outcome.interpreterVersion === undefined ? {} : { interpreter: outcome.interpreterVersion }),
      },
      ...(sandbox.root === undefined ? {} : { root: sandbox.root }),
      sandboxId: sandbox.id,
      ...(sandbox.warmedBy === undefined ? {} : { warm: sandbox.warmedBy }),
      ...(sandbox.fallbackFrom === undefined ? {} : { fallbackFrom: sandbox.fallbackFrom }),
      ...(outcome.network === undefined ? {} : { network: networkRecord(outcome.network) }),
      ...(outcome.usage === undefined ? {} : { usage: outcome.usage }),
      ...(outcome.killedBy === undefined ? {} : { killedBy: outcome.killedBy }),
      ...(outcome.signal === undefined ? {} : { signal: outcome.signal }),
      ...(outcome.oomKills === undefined ? {} : { oomKills: outcome.oomKills }),
      ...(outcome.notCollected === undefined ? {} : { notCollected: outcome.notCollected }),
    },
  };
}

/** The decisions with their sums. */
export function networkRecord({ decisions, dropped }: Recorded): NetworkRecord {
  const sum = (name: 'bytesUp' | 'bytesDown') =>
    decisions.reduce((total, decision) => total + decision[name], 0);
  return { decisions, dropped, bytesUp: sum('bytesUp'), bytesDown: sum('bytesDown') };
}

/** What holds for one program: the deadline is held here, and its own limits by who holds the sandbox's. */
function forProgram(enforced: Enforced, { timeoutSec, limits: own = {} }: Program): Enforced {
  const { limits } = enforced;
  const lowered = (name: LimitName & keyof ProgramLimits) =>
    own[name] === undefined ? limits[name] : { ...limits[name], value: own[name], default: false };
  const timeout =
    timeoutSec === undefined
      ? { value: null, by: 'none' as const, default: true }
      : limits.timeoutSec.value === timeoutSec
        ? limits.timeoutSec
        : { value: timeoutSec, by: 'timer' as const, default: false };
  return {
    ...enforced,
    limits: {
      ...limits,
      memoryMb: lowered('memoryMb'),
      processes: lowered('processes'),
      timeoutSec: timeout,
    },
  };
}

function commonMeta(prepared: Prepared, inspection: Checked, given: readonly string[]) {
  const warnings = [
    ...given,
    ...prepared.warnings,
    ...(inspection.notChecked === undefined ? [] : [inspection.notChecked]),
  ];
  return {
    language: prepared.language?.name ?? null,
    blockedImports: inspection.blockedImports,
    ...(inspection.findings.length === 0 ? {} : { findings: inspection.findings }),
    executionId: prepared.executionId,
    ...(warnings.length === 0 ? {} : { warnings }),
  } satisfies Partial<ExecutionMeta>;
}

function resourceLimits(
  policy: Policy,
  { maxOutputKb, program: { timeoutSec, limits: own = {} } }: Prepared,
): ExecutionMeta['resourceLimits'] {
  const { memoryMb, diskMb, processes, cpu } = policy.limits;
  return {
    memoryMb: own.memoryMb ?? memoryMb.value,
    diskMb: diskMb.value,
    processes: own.processes ?? processes.value,
    cpu: cpu?.value ?? null,
    timeoutSec: timeoutSec ?? null,
    maxOutputKb,
  };
}
