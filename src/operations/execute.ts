/** Running code: inspection, runtime, sandbox, result and artifact, in the one order that every way in uses. */
import type { ArtifactStore } from '../audit/artifacts.ts';
import { SandboxError } from '../errors.ts';
import type { Inspection } from '../gate/inspection.ts';
import { findLanguage } from '../languages/index.ts';
import type { Language } from '../languages/language.ts';
import type { Policy } from '../policy/policy.ts';
import type { ExecutionMeta, ExecutionResult } from '../result/result.ts';
import { chooseRuntime } from '../runtimes/choose.ts';
import type { Enforced } from '../runtimes/runtime.ts';
import { newExecutionId, type Program, type ProgramOutcome, Sandbox } from '../sandbox/sandbox.ts';
import { packageVersion } from '../version.ts';
import type { Context } from './context.ts';
import { checkCode, type ExecuteOptions, type RunOptions } from './options.ts';
import { buildPolicy } from './policy.ts';

/** What to run: code, or a command as it is. */
export type Job =
  | { readonly code: string | Uint8Array }
  | { readonly command: readonly [string, ...string[]] };

/** Runs once in a sandbox of its own, which is gone afterwards. */
export async function executeOnce(
  context: Context,
  job: Job,
  options: ExecuteOptions,
  /** Told what the caller should know as soon as it is known, before anything runs. */
  onWarning: (warning: string) => void = () => {},
): Promise<ExecutionResult> {
  const built = (runtime: string) => buildPolicy(context.loaded, options, runtime);
  const { policy, warnings } = built(context.runtimeName);
  const prepared = prepare(context, job, options, policy.limits.timeoutSec.value);
  const notes = [...context.loaded.warnings, ...warnings];
  notes.forEach(onWarning);
  const inspection = await inspect(context, prepared);
  if (inspection.blocked)
    return finish(context, prepared, refused(context, prepared, inspection, policy, notes));
  const policyOf = (runtime: string) => built(runtime).policy;
  const choice = await chooseRuntime(context.runtime, context.fallback, policyOf, options.signal);
  choice.warnings.forEach(onWarning);
  const languages = shownLanguages(context, prepared.language);
  const use = prepared.program.collect.length === 0 ? { singleUse: true } : {};
  const sandbox = await Sandbox.create(choice, choice.policy, languages, options.signal, use);
  try {
    const outcome = await sandbox.run(prepared.program);
    return await finish(
      context,
      prepared,
      assemble(prepared, inspection, sandbox, outcome, [...notes, ...choice.warnings]),
    );
  } finally {
    await sandbox.close();
  }
}

/** Runs once in a sandbox that lives on. */
export async function executeIn(
  context: Context,
  sandbox: Sandbox,
  code: string | Uint8Array,
  options: RunOptions,
  warnings: readonly string[],
): Promise<ExecutionResult> {
  const { policy, warnings: cut } = buildPolicy(context.loaded, options, sandbox.runtime, 'lasting');
  const timeoutSec =
    options.timeout === undefined ? sandbox.policy.limits.timeoutSec.value : policy.limits.timeoutSec.value;
  const { settings, origins } = context.loaded;
  const kept = origins.maxOutputKb.kind === 'default' ? LASTING_OUTPUT_KB : settings.maxOutputKb;
  const prepared = prepare(context, { code }, { maxOutputKb: kept, ...options }, timeoutSec);
  const notes = [...warnings, ...cut];
  const inspection = await inspect(context, prepared);
  if (inspection.blocked)
    return finish(context, prepared, refused(context, prepared, inspection, sandbox.policy, notes));
  const outcome = await sandbox.run(prepared.program);
  return finish(context, prepared, assemble(prepared, inspection, sandbox, outcome, notes));
}

/** How much of each stream a sandbox that lives on keeps where nobody asked. */
const LASTING_OUTPUT_KB = 1024;

/** Makes a sandbox that lives until it is closed. */
export async function openSandbox(
  context: Context,
  options: ExecuteOptions,
  languages: readonly Language[],
): Promise<{ sandbox: Sandbox; warnings: readonly string[] }> {
  const built = (runtime: string) => buildPolicy(context.loaded, options, runtime, 'lasting');
  const { warnings } = built(context.runtimeName);
  const policyOf = (runtime: string) => built(runtime).policy;
  const choice = await chooseRuntime(context.runtime, context.fallback, policyOf, options.signal);
  const sandbox = await Sandbox.create(choice, choice.policy, languages, options.signal);
  return { sandbox, warnings: [...context.loaded.warnings, ...warnings, ...choice.warnings] };
}

/** A shell script or a command may start the others' interpreters; code of another language has its own. */
function shownLanguages(context: Context, language: Language | undefined): readonly Language[] {
  return language === undefined || language.name === 'shell' ? allLanguages(context, language) : [language];
}

/** Every language that is allowed; the one that decides what the sandbox is made of comes first. */
export function allLanguages(context: Context, first: Language | undefined): readonly Language[] {
  const all = context.loaded.settings.supportedLanguages.map((name) => findLanguage(name));
  return first === undefined ? all : [first, ...all.filter(({ name }) => name !== first.name)];
}

/** Throws `POLICY_DENIED` for a language that the operator does not allow. */
export function allowedLanguage(context: Context, name: string): Language {
  const language = findLanguage(name);
  const { supportedLanguages } = context.loaded.settings;
  if (supportedLanguages.includes(language.name)) return language;
  throw new SandboxError('POLICY_DENIED', `The language ${language.name} is not allowed here.`, {
    hint: `Allowed: ${supportedLanguages.join(', ') || 'none'}. An operator changes this with SANDBOX_SUPPORTED_LANGUAGES.`,
    details: { language: language.name },
  });
}

interface Prepared {
  readonly executionId: string;
  readonly startedAt: Date;
  readonly language: Language | undefined;
  readonly program: Program;
  readonly code: string;
  readonly maxOutputKb: number;
  readonly env: Readonly<Record<string, string>>;
}

function prepare(context: Context, job: Job, options: RunOptions, timeoutSec: number): Prepared {
  const maxOutputKb = options.maxOutputKb ?? context.loaded.settings.maxOutputKb;
  const isCode = 'code' in job;
  if (isCode) checkCode(job.code);
  const language = isCode ? allowedLanguage(context, options.language ?? 'python') : undefined;
  const files = Object.entries(options.files ?? {}).map(([path, data]) => [path, toBytes(data)] as const);
  if (
    language !== undefined &&
    files.some(([path]) => path.replace(/^(\.?\/)*(workspace\/)?/, '') === language.fileName)
  ) {
    throw new SandboxError(
      'INPUT_INVALID',
      `The file name ${language.fileName} is taken by the code itself.`,
      {
        hint: 'Give the file another name.',
      },
    );
  }
  const env = options.env ?? {};
  return {
    executionId: newExecutionId(),
    startedAt: new Date(),
    language,
    code: isCode ? toText(job.code) : job.command.join(' '),
    maxOutputKb,
    env,
    program: {
      run:
        isCode && language !== undefined
          ? { code: toBytes(job.code), language }
          : { command: (job as { command: readonly [string, ...string[]] }).command },
      args: options.args ?? [],
      env,
      ...(options.stdin === undefined
        ? {}
        : { stdin: typeof options.stdin === 'string' ? toBytes(options.stdin) : options.stdin }),
      files: Object.fromEntries(files),
      collect: options.collect ?? [],
      timeoutSec,
      maxOutputBytes: Math.max(1, Math.round(maxOutputKb * 1024)),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(options.onOutput === undefined ? {} : { onOutput: options.onOutput }),
    },
  };
}

/** `message` tells a model what was refused; empty when nothing was. */
type Checked = Inspection & { readonly blocked: boolean; readonly message: string };

async function inspect(context: Context, { language, code }: Prepared): Promise<Checked> {
  const { blockDangerousImports, blockedImports } = context.loaded.settings;
  if (blockDangerousImports === 'false' || language === undefined) {
    return { parsed: true, blockedImports: [], findings: [], blocked: false, message: '' };
  }
  const { blockedMessage, inspectImports } = await import('../gate/inspect.ts');
  const inspection = await inspectImports(code, language.name, blockedImports);
  // Too long to look at is not the same as nothing found; only a language without a check is let through.
  const found =
    inspection.blockedImports.length > 0 ||
    (inspection.notChecked !== undefined && language.name !== 'shell');
  return {
    ...inspection,
    blocked: blockDangerousImports === 'true' && found,
    message: blockedMessage(inspection),
  };
}

function refused(
  context: Context,
  prepared: Prepared,
  inspection: Checked,
  policy: Policy,
  warnings: readonly string[],
): ExecutionResult {
  const message = `${inspection.message || `The code was not run. ${inspection.notChecked}`}\n`;
  return {
    stdout: '',
    stderr: message,
    exitCode: 1,
    duration: 0,
    truncated: false,
    timedOut: false,
    outcome: 'blocked',
    ok: false,
    meta: {
      ...commonMeta(prepared, inspection, warnings),
      runtime: context.runtimeName,
      enforced: null,
      truncated: false,
      timedOut: false,
      resourceLimits: resourceLimits(policy, prepared.program.timeoutSec, prepared.maxOutputKb),
      stdoutBytes: 0,
      stderrBytes: Buffer.byteLength(message),
      versions: { glovebox: packageVersion(), node: process.versions.node },
      sandboxId: null,
    },
  };
}

function assemble(
  prepared: Prepared,
  inspection: Checked,
  sandbox: Sandbox,
  outcome: ProgramOutcome,
  warnings: readonly string[],
): ExecutionResult {
  const truncated = outcome.stdout.truncated || outcome.stderr.truncated;
  const timedOut = outcome.outcome === 'timed_out';
  const { timeoutSec } = prepared.program;
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
      ...commonMeta(prepared, inspection, warnings),
      runtime: sandbox.runtime,
      enforced: withTimeout(sandbox.enforced, timeoutSec),
      truncated,
      timedOut,
      resourceLimits: resourceLimits(sandbox.policy, timeoutSec, prepared.maxOutputKb),
      stdoutBytes: outcome.stdout.bytes,
      stderrBytes: outcome.stderr.bytes,
      versions: {
        glovebox: packageVersion(),
        node: process.versions.node,
        runtime: sandbox.runtimeVersion,
        ...(outcome.interpreterVersion === undefined ? {} : { interpreter: outcome.interpreterVersion }),
      },
      sandboxId: sandbox.id,
      ...(sandbox.fallbackFrom === undefined ? {} : { fallbackFrom: sandbox.fallbackFrom }),
      ...(outcome.usage === undefined ? {} : { usage: outcome.usage }),
      ...(outcome.killedBy === undefined ? {} : { killedBy: outcome.killedBy }),
      ...(outcome.signal === undefined ? {} : { signal: outcome.signal }),
      ...(outcome.oomKills === undefined ? {} : { oomKills: outcome.oomKills }),
      ...(outcome.notCollected === undefined ? {} : { notCollected: outcome.notCollected }),
    },
  };
}

/** The deadline is held here, for each run by itself. */
function withTimeout(enforced: Enforced, timeoutSec: number): Enforced {
  const { limits } = enforced;
  const same = limits.timeoutSec.value === timeoutSec;
  const timeout = same ? limits.timeoutSec : { value: timeoutSec, by: 'timer' as const, default: false };
  return { ...enforced, limits: { ...limits, timeoutSec: timeout } };
}

function commonMeta(prepared: Prepared, inspection: Checked, given: readonly string[]) {
  const warnings = [...given, ...(inspection.notChecked === undefined ? [] : [inspection.notChecked])];
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
  timeoutSec: number,
  maxOutputKb: number,
): ExecutionMeta['resourceLimits'] {
  const { memoryMb, diskMb, processes, cpu } = policy.limits;
  return {
    memoryMb: memoryMb.value,
    diskMb: diskMb.value,
    processes: processes.value,
    cpu: cpu?.value ?? null,
    timeoutSec,
    maxOutputKb,
  };
}

/** Stores the artifact; that one cannot be written is said and does not fail the run. */
async function finish(
  context: Context,
  prepared: Prepared,
  result: ExecutionResult,
): Promise<ExecutionResult> {
  const { storeCode, artifactsDir } = context.loaded.settings;
  const store: ArtifactStore = { folder: artifactsDir, policy: storeCode };
  // Most runs store nothing, and a short-lived command should not load what would.
  if (storeCode === 'never' || (storeCode === 'on_error' && result.ok)) return result;
  try {
    const { storeArtifact } = await import('../audit/artifacts.ts');
    const artifact = await storeArtifact(store, {
      code: prepared.code,
      result,
      startedAt: prepared.startedAt,
      secrets: Object.values(prepared.env),
    });
    return artifact === undefined ? result : { ...result, meta: { ...result.meta, artifact } };
  } catch (error) {
    const warning = `The artifact could not be stored in ${artifactsDir}: ${(error as Error).message}`;
    return { ...result, meta: { ...result.meta, warnings: [...(result.meta.warnings ?? []), warning] } };
  }
}

function toBytes(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? Buffer.from(data) : data;
}

function toText(data: string | Uint8Array): string {
  return typeof data === 'string' ? data : Buffer.from(data).toString('utf8');
}
