/** Trying something out in a copy of the workspace, and making what came of it count. */
import type { ExecutionResult } from '../../result/result.ts';
import { Spool } from '../../sandbox/trees/spool.ts';
import type { Context } from '../context.ts';
import { counted, executeIn, type Opened, type RunIn } from '../execute.ts';
import type { Job } from '../job.ts';
import type { LiveRunOptions } from '../options.ts';
import type { Operate } from '../oversight/sandboxes.ts';
import { countsOf, type Effects, effectsOf } from './effects.ts';
import { Made } from './made.ts';
import { Trying } from './trying.ts';

/** As of an execution; its output is in its result alone. */
export type DryRunOptions = Omit<LiveRunOptions, 'onStart'>;

/**
 * What came of a program that ran in a copy of the workspace. Whoever neither commits nor discards it keeps its bytes until
 * the sandbox ends.
 */
export interface DryRun extends AsyncDisposable {
  /** That of the execution. */
  readonly id: string;
  readonly result: ExecutionResult;
  readonly effects: Effects;
  /** SHA-256 of every path that is different, with what it was and what it is. */
  readonly hash: string;
  /**
   * Makes the workspace what the copy became: exactly these bytes; the program does not run again. Throws
   * `WORKSPACE_CHANGED` when the workspace is not what the dry run began with, and changes nothing then; `APPROVAL_DENIED`
   * where a gate asks and the answer is no; `INPUT_INVALID` when it was committed or discarded, or cannot be.
   */
  commit(): Promise<void>;
  /** Forgets it, also while somebody is asked about its commit. Safe to call twice. */
  discard(): Promise<void>;
}

/** Runs it once, and resolves to what it did. Rejects as `execute` does, and where the workspace cannot be copied. */
export function dryRun(
  context: Context,
  opened: Opened,
  job: Job,
  options: DryRunOptions,
  operate: Operate,
): Promise<DryRun> {
  return counted(opened, tryOut(context, opened, job, options, operate));
}

async function tryOut(
  context: Context,
  opened: Opened,
  job: Job,
  options: DryRunOptions,
  operate: Operate,
): Promise<DryRun> {
  const { sandbox } = opened;
  const beforeSpool = await Spool.open();
  try {
    const trying = new Trying(opened, beforeSpool);
    const runIn: RunIn = (program, resultOf) => sandbox.beside(() => trying.run(program, resultOf));
    const result = await executeIn(context, opened, job, options, { runIn, isDry: true });
    const { trial } = trying;
    const effects =
      'because' in trial ? nothing(trial.because) : await effectsOf(trial, result, sandbox.policy.network);
    const made = new Made(sandbox, {
      ...{ result, effects, operate, limits: trying.limits },
      trial: 'because' in trial ? undefined : trial,
    });
    await context.oversight?.record({
      ...{ type: 'effects', id: made.id, sandbox_id: sandbox.id, sha256: made.hash },
      ...countsOf(effects),
    });
    return made;
  } finally {
    await beforeSpool.close();
  }
}

function nothing(notCommittable: string): Effects {
  return {
    ...{ files: [], hosts: [], hostsNotTold: 0, processes: null, notCopied: [], notCarried: [] },
    notCommittable,
  };
}
