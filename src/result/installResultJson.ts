import type { InstallResult } from './installResult.ts';
import { type JsonOf, networkToJson, withoutUndefined } from './resultJson.ts';

/** The result of an installation as every surface prints it, by the rules of `resultToJson`. */
export function installResultToJson(result: InstallResult): Record<string, unknown> {
  return withoutUndefined({
    ok: result.ok,
    package: result.package,
    registry: result.registry,
    version: result.version,
    message: result.message,
    log: result.log,
    duration: result.duration,
    exit_code: result.exitCode,
    outcome: result.outcome,
    network: networkToJson(result.network),
    execution_id: result.executionId,
    sandbox_id: result.sandboxId,
    warnings: result.warnings,
  } satisfies JsonOf<InstallResult>);
}
