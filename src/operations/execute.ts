/** Running code: inspection, runtime, sandbox, result and artifact, in the one order that every way in uses. */
import { SandboxError } from '../errors.ts';
import type { Language } from '../languages/language.ts';
import type { Policy } from '../policy/policy.ts';
import type { ExecutionResult } from '../result/result.ts';
import { chooseRuntime } from '../runtimes/choose.ts';
import type { Background } from '../sandbox/background.ts';
import type { Program, ProgramOutcome } from '../sandbox/program.ts';
import { Sandbox, type SandboxUse } from '../sandbox/sandbox.ts';
import type { Context } from './context.ts';
import { blockedMessage, type Checked, inspect } from './inspection.ts';
import { type Job, outputLimit, type Prepared, prepare } from './job.ts';
import { allLanguages } from './languages.ts';
import { lifeFor } from './lifeFor.ts';
import { lowerLimits } from './lowerLimits.ts';
import type { ExecuteOptions, LiveRunOptions, RunOptions, StartOptions } from './options.ts';
import { ExecutionPassage } from './oversight/executionPassage.ts';
import { decisionsTo, makeRecorded } from './oversight/sandboxes.ts';
import { policyFor } from './policy.ts';
import { assemble, blockOf, denialOf, refused } from './results.ts';

/** Runs once in a sandbox of its own, which is gone afterwards. */
export async function executeOnce(
  context: Context,
  job: Job,
  options: ExecuteOptions,
  /** Told what the caller should know as soon as it is known, before anything runs. */
  onWarning: (warning: string) => void = () => {},
): Promise<ExecutionResult> {
  const built = (runtime: string) => policyFor(context, options, runtime);
  const { policy, warnings } = built(context.runtimeName);
  const prepared = prepare(context, job, options, {
    timeoutSec: policy.limits.timeoutSec.value,
    lifetime: 'single',
  });
  const notes = [...context.loaded.warnings, ...warnings];
  notes.forEach(onWarning);
  const passage = await ExecutionPassage.open(context, prepared, null);
  return passage.over(async () => {
    const inspection = await inspect(context, prepared);
    await passage.inspected(inspection);
    const block = blockOf(inspection);
    if (block !== undefined) return refused(context, prepared, inspection, block, policy, notes);
    const policyOf = (runtime: string) => built(runtime).policy;
    const choice = await chooseRuntime(context.runtime, context.fallback, policyOf, options.signal);
    choice.warnings.forEach(onWarning);
    const denial = denialOf(await passage.admit(choice.runtime.name, choice.policy));
    if (denial !== undefined) return refused(context, prepared, inspection, denial, choice.policy, notes);
    const languages = shownLanguages(context, prepared.language, choice.policy);
    const use: SandboxUse = {
      ...(prepared.program.collect.length === 0 ? { singleUse: true } : {}),
      ...decisionsTo(
        context,
        () => ({ id: prepared.executionId, sandbox_id: null }),
        options,
        Object.values(prepared.env),
      ),
    };
    const run = async (sandbox: Sandbox): Promise<ExecutionResult> => {
      const outcome = await sandbox.run(passage.program);
      return assemble(prepared, inspection, sandbox, outcome, [...notes, ...choice.warnings]);
    };
    const cold = async (): Promise<ExecutionResult> => {
      const sandbox = await Sandbox.create(choice, choice.policy, languages, options.signal, use);
      try {
        return await run(sandbox);
      } finally {
        await sandbox.close();
      }
    };
    if (context.warmth === undefined) return cold();
    return context.warmth.run({ choice, languages, prepared, use, signal: options.signal }, run, cold);
  });
}

/** A sandbox that lives on, and what holds in it where an execution says nothing else. */
export interface Opened {
  readonly sandbox: Sandbox;
  readonly warnings: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly maxOutputKb: number;
  /**
   * Makes another one like it for one execution: empty, and without an end of its own. Whoever makes it closes it.
   */
  like(program: Parameters<RunIn>[0]): Promise<Sandbox>;
  /** What runs in it, until its end is recorded. */
  readonly executions: Set<Promise<unknown>>;
  /** Settles once its end is recorded, behind that of all that ran; rejects with `AUDIT_UNAVAILABLE`. */
  readonly endRecorded: Promise<void>;
}

/** Counts an execution until it is over. */
export function counted<T>({ executions }: Pick<Opened, 'executions'>, execution: Promise<T>): Promise<T> {
  executions.add(execution);
  const over = (): void => void executions.delete(execution);
  execution.then(over, over);
  return execution;
}

/** Runs a program, and hands what came of it to `result`, with the sandbox that it ran in. */
export type RunIn = (
  program: Program & Pick<Prepared, 'executionId'>,
  result: (sandbox: Sandbox, outcome: ProgramOutcome) => ExecutionResult,
) => Promise<ExecutionResult>;

/** Runs once in a sandbox that lives on, or, as a dry run, wherever `runIn` says. */
export async function executeIn(
  context: Context,
  opened: Opened,
  job: Job,
  options: LiveRunOptions,
  { runIn, isDry = false }: { readonly runIn?: RunIn; readonly isDry?: boolean } = {},
): Promise<ExecutionResult> {
  const { sandbox } = opened;
  const { timeoutSec, warnings: cut } = timeOf(context, opened, options);
  const lowered = lowerLimits(sandbox, options);
  const given = prepare(context, job, inOpened(opened, options), {
    ...{ timeoutSec, limits: lowered.limits, lifetime: 'lasting' },
  });
  const prepared = isDry ? { ...given, isDry } : given;
  const notes = [...opened.warnings, ...cut, ...lowered.warnings];
  const passage = await ExecutionPassage.open(context, prepared, sandbox);
  const execution = passage.over(async () => {
    sandbox.assertOpen();
    const inspection = await inspect(context, prepared);
    await passage.inspected(inspection);
    const refusal = blockOf(inspection) ?? denialOf(await passage.admit(sandbox.runtime, sandbox.policy));
    if (refusal !== undefined) return refused(context, prepared, inspection, refusal, sandbox.policy, notes);
    const { executionId } = prepared;
    const program = {
      ...passage.program,
      executionId,
      onStart: () => options.onStart?.({ executionId }),
    };
    const result = (where: Sandbox, outcome: ProgramOutcome): ExecutionResult =>
      assemble(prepared, inspection, where, outcome, notes);
    return runIn === undefined ? result(sandbox, await sandbox.run(program)) : runIn(program, result);
  });
  return counted(opened, execution);
}

/** A program that was started beside the others, and how to get its result. */
export interface Started {
  readonly background: Background;
  /** The same for everybody who asks; rejects only when the isolation failed. */
  readonly result: Promise<ExecutionResult>;
}

/** Starts one in a sandbox that lives on. Throws `POLICY_DENIED` for code that is blocked. */
export async function startIn(
  context: Context,
  opened: Opened,
  job: Job,
  { stdin: given, ...options }: StartOptions & Pick<RunOptions, 'language'>,
): Promise<Started> {
  const { sandbox } = opened;
  // What is shown to a person is what it reads, whatever the caller does with its own bytes meanwhile.
  const stdin = given instanceof Uint8Array ? Uint8Array.from(given) : given;
  const time = timeOf(context, opened, options);
  const timeoutSec = options.timeout === undefined ? undefined : time.timeoutSec;
  const lowered = lowerLimits(sandbox, options);
  const prepared = prepare(context, job, inOpened(opened, options), {
    ...{ timeoutSec, limits: lowered.limits, lifetime: 'lasting' },
  });
  const notes = [...opened.warnings, ...time.warnings, ...lowered.warnings];
  const passage = await ExecutionPassage.open(context, prepared, sandbox, stdin);
  const { inspection, background } = await passage.failing(async () => {
    const inspection = await inspect(context, prepared);
    await passage.inspected(inspection);
    if (inspection.blocked) throw blocked(inspection);
    const denied = await passage.admit(sandbox.runtime, sandbox.policy);
    if (denied !== undefined) throw (await import('./oversight/oversight.ts')).denialError(denied);
    const background = await sandbox.start(prepared.executionId, {
      ...passage.program,
      ...(stdin === undefined ? {} : { stdin }),
    });
    return { inspection, background };
  });
  const execution = passage.over(async () =>
    assemble(prepared, inspection, sandbox, await background.outcome, notes),
  );
  const result = counted(opened, execution);
  // Whoever waits for it is told.
  result.catch(() => {});
  return { background, result };
}

function blocked(inspection: Checked): SandboxError {
  return new SandboxError('POLICY_DENIED', blockedMessage(inspection), {
    hint: 'Do without what is blocked (SANDBOX_BLOCKED_IMPORTS).',
    details: { blockedImports: inspection.blockedImports },
  });
}

/** How long an execution may take, which is the sandbox's own where it names nothing. */
export function timeOf(
  context: Context,
  { sandbox }: Opened,
  { timeout }: Pick<RunOptions, 'timeout'>,
): { readonly timeoutSec: number; readonly warnings: readonly string[] } {
  if (timeout === undefined) return { timeoutSec: sandbox.policy.limits.timeoutSec.value, warnings: [] };
  const { policy, warnings } = policyFor(context, { timeout }, sandbox.runtime, 'lasting');
  return { timeoutSec: policy.limits.timeoutSec.value, warnings };
}

/** The options of an execution, with what the sandbox was made with where they say nothing. */
export function inOpened<Options extends RunOptions>(
  { env, maxOutputKb }: Opened,
  options: Options,
): Options {
  return {
    ...options,
    env: { ...env, ...options.env },
    ...(options.maxOutputBytes === undefined ? { maxOutputKb: options.maxOutputKb ?? maxOutputKb } : {}),
  };
}

export interface OpenOptions extends ExecuteOptions {
  /** Seconds from its making. */
  readonly lifetime?: number;
  /** Seconds without a call and without a running process. */
  readonly idleTimeout?: number;
  readonly forwardPorts?: boolean;
  /** What it is called; an id of its own otherwise. */
  readonly id?: string;
}

/** Makes a sandbox that lives until it is closed or its time is over. */
export async function openSandbox(
  context: Context,
  options: OpenOptions,
  languages: readonly Language[],
): Promise<Opened> {
  const built = (runtime: string) => policyFor(context, options, runtime, 'lasting');
  const { warnings } = built(context.runtimeName);
  const life = lifeFor(context, options);
  const output = outputLimit(context, options, 'lasting');
  const policyOf = (runtime: string) => built(runtime).policy;
  const choice = await chooseRuntime(context.runtime, context.fallback, policyOf, options.signal);
  let sandboxId: string | null = null;
  const secrets = Object.values(options.env ?? {});
  const use: SandboxUse = {
    lifetimeSec: life.lifetimeSec,
    idleSec: life.idleSec,
    keptOutputMb: context.loaded.settings.keptOutputMb,
    ...(options.id === undefined ? {} : { id: options.id }),
    ...(options.forwardPorts === undefined ? {} : { forwardPorts: options.forwardPorts }),
    ...decisionsTo(context, () => ({ sandbox_id: sandboxId }), options, secrets),
  };
  const make = () => Sandbox.create(choice, choice.policy, languages, options.signal, use);
  const executions = new Set<Promise<unknown>>();
  const { sandbox, endRecorded } = await makeRecorded(context, make, {
    ...{ executions, secrets, signal: options.signal },
    runtime: choice.runtime.name,
    policy: choice.policy,
    parameters: {
      languages: languages.map(({ name }) => name),
      variables: Object.keys(options.env ?? {}).sort(),
      ...{ lifetime_sec: use.lifetimeSec, idle_timeout_sec: use.idleSec },
      forward_ports: options.forwardPorts ?? false,
    },
  });
  sandboxId = sandbox.id;
  return {
    sandbox,
    warnings: [
      ...context.loaded.warnings,
      ...warnings,
      ...life.warnings,
      ...output.warnings,
      ...choice.warnings,
    ],
    env: options.env ?? {},
    maxOutputKb: output.maxOutputKb,
    like: ({ executionId, env, signal }) =>
      Sandbox.create(choice, choice.policy, languages, signal, {
        id: sandbox.id,
        ...decisionsTo(
          context,
          () => ({ id: executionId, sandbox_id: sandbox.id }),
          options,
          Object.values(env),
        ),
      }),
    executions,
    endRecorded,
  };
}

/**
 * A shell script or a command may start the others' interpreters, and so may whatever fetches something; other code has
 * its own.
 */
export function shownLanguages(
  context: Context,
  language: Language | undefined,
  { network }: Policy,
): readonly Language[] {
  const mayStartOthers = language === undefined || language.name === 'shell' || network === 'allowlist';
  return mayStartOthers ? allLanguages(context, language) : [language];
}
