/** What is answered. */
import { z } from '@hono/zod-openapi';
import { ERROR_CODES } from '../../errors.ts';
import { ISOLATION_LEVELS } from '../../policy/isolation.ts';

const time = z.iso.datetime();
const count = z.number().int().nonnegative();

export const errorResult = z
  .strictObject({
    error: z.strictObject({
      code: z.enum(Object.keys(ERROR_CODES) as [string, ...string[]]),
      message: z.string(),
      hint: z.string(),
      details: z.record(z.string(), z.unknown()),
    }),
  })
  .openapi('Error');

const outcome = z.enum(['exited', 'timed_out', 'killed', 'out_of_memory', 'cancelled', 'blocked', 'denied']);

const holder = z.enum(['cgroup', 'rlimit', 'tmpfs', 'engine', 'timer', 'none']);

function ofEachLimit<Limit extends z.ZodType>(limit: Limit) {
  return { memory_mb: limit, disk_mb: limit, processes: limit, cpu: limit, timeout_sec: limit };
}

const enforced = z
  .strictObject({
    isolation: z.enum(ISOLATION_LEVELS),
    network: z.enum(['none', 'allowlist', 'open']),
    filesystem: z.enum(['private', 'host']),
    processes: z.enum(['contained', 'best-effort']),
    seccomp: z.boolean(),
    security_options: z.array(z.string()).optional(),
    uid: z.number().int().nullable(),
    limits: z.strictObject(
      ofEachLimit(z.strictObject({ value: z.number().nullable(), by: holder, default: z.boolean() })),
    ),
  })
  .openapi('Enforced');

const networkRecord = z
  .strictObject({
    decisions: z.array(
      z.strictObject({
        at: z.string(),
        host: z.string(),
        port: z.number().int(),
        via: z.enum(['connect', 'http']),
        method: z.string().optional(),
        allowed: z.boolean(),
        code: z.string().optional(),
        reason: z.string().optional(),
        address: z.string().optional(),
        bytes_up: count,
        bytes_down: count,
        duration_sec: z.number(),
      }),
    ),
    dropped: count,
    bytes_up: count,
    bytes_down: count,
  })
  .openapi('NetworkRecord');

const usage = z.strictObject({
  cpu_sec: z.number().optional(),
  peak_memory_mb: z.number().optional(),
  peak_processes: z.number().optional(),
});

const meta = z
  .strictObject({
    runtime: z.string(),
    fallback_from: z.string().optional(),
    warm: z.string().optional(),
    language: z.string().nullable(),
    enforced: enforced.nullable(),
    truncated: z.boolean(),
    timed_out: z.boolean(),
    blocked_imports: z.array(z.string()),
    findings: z
      .array(
        z.strictObject({
          kind: z.enum(['dangerous_call', 'blocked_import']),
          name: z.string(),
          line: z.number().int(),
          message: z.string(),
        }),
      )
      .optional(),
    resource_limits: z.strictObject({
      ...ofEachLimit(z.number().nullable()),
      max_output_kb: z.number(),
    }),
    stdout_bytes: count,
    stderr_bytes: count,
    versions: z.record(z.string(), z.string()),
    root: z
      .strictObject({
        kind: z.enum(['host', 'image', 'folder']),
        name: z.string(),
        id: z.string().optional(),
      })
      .optional(),
    sandbox_id: z.string().nullable(),
    execution_id: z.string(),
    record: z.strictObject({ seq: count, hash: z.string() }).optional(),
    artifact: z.string().optional(),
    usage: usage.optional(),
    network: networkRecord.optional(),
    killed_by: z.enum(['timeout', 'memory', 'cpu', 'file_size', 'lifetime']).optional(),
    signal: z.number().int().optional(),
    oom_kills: count.optional(),
    not_collected: z.record(z.string(), z.string()).optional(),
    warnings: z.array(z.string()).optional(),
  })
  .openapi('ExecutionMeta');

const result = {
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.number().int(),
  duration: z.number().openapi({ description: 'Seconds.' }),
  truncated: z.boolean(),
  timed_out: z.boolean(),
  outcome,
  ok: z.boolean(),
  files: z
    .record(
      z.string(),
      z.strictObject({ encoding: z.enum(['utf8', 'base64']), content: z.string(), size: count }),
    )
    .optional(),
  meta,
};

export const executionResult = z.strictObject(result).openapi('ExecutionResult');

export const richResult = z
  .strictObject({
    type: z.enum(['result', 'display']),
    text: z.string().optional(),
    html: z.string().optional(),
    json: z.unknown().optional(),
    markdown: z.string().optional(),
    latex: z.string().optional(),
    png: z.string().optional().openapi({ description: 'Base64.' }),
    jpeg: z.string().optional().openapi({ description: 'Base64.' }),
    svg: z.string().optional(),
    extra: z.record(z.string(), z.unknown()).optional(),
    notes: z.array(z.string()).optional(),
  })
  .openapi('RichResult');

export const cellResult = z
  .strictObject({
    ...result,
    results: z.array(richResult),
    results_left_out: count,
    error: z.strictObject({ name: z.string(), value: z.string(), traceback: z.string() }).optional(),
    execution_count: count,
    ended: z.string().optional(),
  })
  .openapi('CellResult');

export const installResult = z
  .strictObject({
    ok: z.boolean(),
    package: z.string(),
    registry: z.string(),
    version: z.string().optional(),
    message: z.string(),
    log: z.string(),
    duration: z.number(),
    exit_code: z.number().int(),
    outcome,
    network: networkRecord,
    execution_id: z.string(),
    sandbox_id: z.string(),
    warnings: z.array(z.string()).optional(),
  })
  .openapi('InstallResult');

export const startedExecution = z
  .strictObject({
    execution_id: z.string(),
    sandbox_id: z.string().nullable(),
    state: z.enum(['waiting', 'running', 'ended', 'failed']),
  })
  .openapi('StartedExecution');

export const dryRun = z
  .strictObject({
    dry_run_id: z.string(),
    effects_sha256: z.string(),
    effects: z.record(z.string(), z.unknown()),
    result: executionResult,
  })
  .openapi('DryRun');

export const execution = z
  .strictObject({
    ...startedExecution.shape,
    started_at: time.nullable(),
    ended_at: time.nullable(),
    result: z.union([executionResult, cellResult, installResult, dryRun]).optional(),
    error: errorResult.shape.error.optional(),
  })
  .openapi('Execution');

export const outputPage = z
  .strictObject({
    stream: z.enum(['stdout', 'stderr']),
    text: z.string(),
    data_base64: z.string(),
    offset: count,
    next_offset: count,
    total_bytes: count,
    dropped_bytes: count,
    ended: z.boolean(),
  })
  .openapi('OutputPage');

export const sandbox = z
  .strictObject({
    sandbox_id: z.string(),
    runtime: z.string(),
    language: z.string(),
    created_at: time,
    expires_at: time,
    last_used_at: time,
    running: z.boolean(),
    enforced,
    warnings: z.array(z.string()),
  })
  .openapi('Sandbox');

export const context = z.strictObject({ context_id: z.string(), language: z.string() }).openapi('Context');

export const files = z
  .strictObject({
    files: z.array(
      z.strictObject({
        name: z.string(),
        path: z.string(),
        type: z.enum(['file', 'directory', 'symlink', 'other']),
        size: count,
        modified_at: z.string(),
      }),
    ),
    truncated: z.literal(true).optional(),
  })
  .openapi('Files');

export const processResult = z
  .strictObject({
    process_id: z.string(),
    execution_id: z.string(),
    argv: z.array(z.string()),
    status: z.string().openapi({ description: 'running, or how it ended.' }),
    started_at: time,
  })
  .openapi('Process');

export const question = z
  .strictObject({
    id: z.string(),
    hash: z.string(),
    operation: z.string(),
    runtime: z.string(),
    sandbox_id: z.string().nullable(),
    sandbox_instance: z.string().optional(),
    code: z.strictObject({ language: z.string().nullable(), base64: z.string() }).optional(),
    parameters: z.record(z.string(), z.unknown()),
    policy: z.record(z.string(), z.unknown()),
    unknown_content: z.string().optional(),
    sights: z.array(
      z.strictObject({
        effect: z.string(),
        name: z.string(),
        line: z.number().int(),
        why: z.string(),
        is_dangerous: z.boolean(),
      }),
    ),
    not_inspected: z.string().optional(),
    risk: z.strictObject({
      level: z.enum(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL']),
      rule: z.string().optional(),
      description: z.string(),
    }),
    asked_by: z.string().optional(),
    asked_at: time,
    expires_at: time,
  })
  .openapi('Question');

export const grant = z
  .strictObject({
    id: z.string(),
    scope: z.enum(['exact', 'operation']),
    operation: z.string(),
    runtime: z.string(),
    sandbox_id: z.string().nullable(),
    level: z.string(),
    given_by: z.string(),
    given_at: time,
    expires_at: time,
    uses_left: z.number().int().nullable(),
  })
  .openapi('Grant');

export const auditRecord = z
  .looseObject({ seq: count, at: z.string(), type: z.string(), hash: z.string(), prev: z.string() })
  .openapi('AuditRecord');
