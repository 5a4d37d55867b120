import type { ArtifactStore } from '../audit/artifacts.ts';
import type { ExecutionResult } from '../result/result.ts';
import type { Context } from './context.ts';
import type { Prepared } from './job.ts';

/** Stores the artifact; that one cannot be written is said and does not fail the run. */
export async function storeResult(
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
