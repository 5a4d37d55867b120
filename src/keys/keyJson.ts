import type { Key } from './key.ts';

/** A key as JSON, with null for what it does not have. Pure. */
export function keyToJson({ id, name, scopes, quotas, createdAt, expiresAt, revokedAt }: Key): object {
  return {
    id,
    name,
    scopes,
    quotas: {
      max_sandboxes: quotas.maxSandboxes ?? null,
      executions_per_minute: quotas.executionsPerMinute ?? null,
      cpu_seconds_per_hour: quotas.cpuSecondsPerHour ?? null,
      bytes_per_hour: quotas.bytesPerHour ?? null,
    },
    created_at: createdAt,
    expires_at: expiresAt ?? null,
    revoked_at: revokedAt ?? null,
  };
}
