/** A dry run in a sandbox of a server. */
import { SandboxError } from '../errors.ts';
import type { DryRun, DryRunOptions } from '../operations/dryRun/dryRun.ts';
import type { Job } from '../operations/job.ts';
import { malformed } from './answer.ts';
import { idPath } from './paths.ts';
import type { Place } from './place.ts';
import { liveExecutionJson } from './requests.ts';
import { dryRunAnswer } from './wire.ts';
import { withMissed } from './withMissed.ts';

export async function remoteDryRun(place: Place, job: Job, options: DryRunOptions): Promise<DryRun> {
  const { onOutput, signal } = options;
  const { result: answer, missed } = await place.run({
    path: 'dry-runs',
    json: await liveExecutionJson(job, options),
    schema: dryRunAnswer,
    ...(onOutput === undefined ? {} : { onOutput }),
    ...(signal === undefined ? {} : { signal }),
  });
  const { dryRunId: id, effects, effectsSha256: hash, result } = answer;
  const { effectsHash } = await import('../operations/dryRun/effects.ts');
  // What is shown here is what is committed there, or nobody decides anything about it.
  if (effectsHash(effects) !== hash) throw malformed('the dry run', 'its effects are not those of its hash.');
  const path = `dry-runs/${idPath(id)}`;
  let state: 'open' | 'committed' | 'discarded' = 'open';
  const discard = async (): Promise<void> => {
    if (state !== 'open') return;
    state = 'discarded';
    await place.tell({ method: 'DELETE', path, retry: true }).catch((error: unknown) => {
      // It is gone with its sandbox, or was forgotten there: what was asked for.
      if (!(error instanceof SandboxError) || !isGone(error)) throw error;
    });
  };
  return {
    ...{ id, effects, hash },
    result: withMissed({ result, missed }),
    async commit() {
      if (state !== 'open') throw notOpen(id, state);
      await place.tell({ method: 'POST', path: `${path}/commit`, json: {}, retry: true });
      state = 'committed';
    },
    discard,
    [Symbol.asyncDispose]: discard,
  };
}

function isGone({ code }: SandboxError): boolean {
  return code === 'SANDBOX_CLOSED' || code === 'INPUT_INVALID';
}

function notOpen(dryRun: string, state: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `The dry run has been ${state}.`, {
    hint: 'Make the dry run again, or run the code itself.',
    details: { dryRun, state },
  });
}
