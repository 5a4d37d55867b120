/** Results as they come from elsewhere, read by the rules of `resultToJson`. */
import { z } from 'zod';
import type { NetworkDecision } from '../egress/decision.ts';
import type { RefusalCode } from '../egress/refusal.ts';
import { SandboxError } from '../errors.ts';
import { REGISTRY_NAMES } from '../languages/installers/installer.ts';
import { LANGUAGE_NAMES } from '../languages/language.ts';
import { ISOLATION_LEVELS } from '../policy/isolation.ts';
import type { LimitName } from '../policy/policy.ts';
import type { Enforced, EnforcedLimit, Usage } from '../runtimes/runtime.ts';
import type { ContextError, ContextExecution, RichResult } from './contextExecution.ts';
import { fromSnakeCase, mapOf } from './fromSnakeCase.ts';
import type { InstallResult } from './installResult.ts';
import type { ExecutionMeta, ExecutionResult, Finding, NetworkRecord } from './result.ts';
import type { JsonOf } from './resultJson.ts';

const text = z.string();
const texts = z.array(text);
const count = z.number().int().nonnegative();
const outcome = z.enum([
  ...(['exited', 'timed_out', 'killed', 'out_of_memory', 'cancelled', 'blocked', 'denied'] as const),
]);

/** A file in a result; its size tells that nothing of it was lost. */
const file = z
  .object({ encoding: z.enum(['utf8', 'base64']), content: text, size: count })
  .transform(({ encoding, content, size }, context) => {
    const bytes = Uint8Array.from(Buffer.from(content, encoding));
    if (bytes.length !== size) {
      context.addIssue({ code: 'custom', message: `Invalid file: ${bytes.length} bytes instead of ${size}` });
    }
    return bytes;
  });

function limitsOf<Limit extends z.ZodType>(limit: Limit) {
  return {
    memory_mb: limit,
    disk_mb: limit,
    processes: limit,
    cpu: limit,
    timeout_sec: limit,
  } satisfies JsonOf<Record<LimitName, unknown>>;
}

const enforcedLimit = fromSnakeCase({
  value: z.number().nullable(),
  by: z.enum(['cgroup', 'rlimit', 'tmpfs', 'engine', 'timer', 'none']),
  default: z.boolean(),
} satisfies JsonOf<EnforcedLimit>);

/** What held. */
export const enforcedSchema = fromSnakeCase({
  isolation: z.enum(ISOLATION_LEVELS),
  network: z.enum(['none', 'allowlist', 'open']),
  filesystem: z.enum(['private', 'host']),
  processes: z.enum(['contained', 'best-effort']),
  seccomp: z.boolean(),
  security_options: texts.exactOptional(),
  uid: z.number().nullable(),
  limits: fromSnakeCase(limitsOf(enforcedLimit)),
} satisfies JsonOf<Enforced>);

const decision = fromSnakeCase({
  at: text,
  host: text,
  port: count,
  via: z.enum(['connect', 'http']),
  method: text.exactOptional(),
  allowed: z.boolean(),
  // One word; a later version may know more of them.
  code: z.custom<RefusalCode>((value) => typeof value === 'string').exactOptional(),
  reason: text.exactOptional(),
  address: text.exactOptional(),
  bytes_up: count,
  bytes_down: count,
  duration_sec: z.number(),
} satisfies JsonOf<NetworkDecision>);

const network = fromSnakeCase({
  decisions: z.array(decision),
  dropped: count,
  bytes_up: count,
  bytes_down: count,
} satisfies JsonOf<NetworkRecord>);

const finding = fromSnakeCase({
  kind: z.enum(['dangerous_call', 'blocked_import']),
  name: text,
  line: count,
  message: text,
} satisfies JsonOf<Finding>);

const usage = fromSnakeCase({
  cpu_sec: z.number().exactOptional(),
  peak_memory_mb: z.number().exactOptional(),
  peak_processes: z.number().exactOptional(),
} satisfies JsonOf<Usage>);

const root = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('host'), name: text }),
  z.object({ kind: z.literal('image'), name: text, id: text }),
  z.object({ kind: z.literal('folder'), name: text }),
]);

const meta = fromSnakeCase({
  runtime: text,
  fallback_from: text.exactOptional(),
  language: z.enum(LANGUAGE_NAMES).nullable(),
  enforced: enforcedSchema.nullable(),
  truncated: z.boolean(),
  timed_out: z.boolean(),
  blocked_imports: texts,
  findings: z.array(finding).exactOptional(),
  resource_limits: fromSnakeCase({
    ...limitsOf(z.number().nullable()),
    max_output_kb: z.number(),
  } satisfies JsonOf<ExecutionMeta['resourceLimits']>),
  stdout_bytes: count,
  stderr_bytes: count,
  versions: mapOf(text),
  root: root.exactOptional(),
  sandbox_id: text.nullable(),
  warm: z.enum(['fork_server', 'waiting_interpreter']).exactOptional(),
  execution_id: text,
  record: z.object({ seq: count, hash: text }).exactOptional(),
  artifact: text.exactOptional(),
  usage: usage.exactOptional(),
  network: network.exactOptional(),
  killed_by: z.enum(['timeout', 'memory', 'cpu', 'file_size', 'lifetime']).exactOptional(),
  signal: z.number().exactOptional(),
  oom_kills: count.exactOptional(),
  not_collected: mapOf(text).exactOptional(),
  warnings: texts.exactOptional(),
} satisfies JsonOf<ExecutionMeta>);

const result = {
  stdout: text,
  stderr: text,
  exit_code: z.number().int(),
  duration: z.number(),
  truncated: z.boolean(),
  timed_out: z.boolean(),
  outcome,
  ok: z.boolean(),
  files: mapOf(file).exactOptional(),
  meta,
} satisfies JsonOf<ExecutionResult>;

/** The result of an execution. */
export const resultSchema: z.ZodType<ExecutionResult> = fromSnakeCase(result);

/** One value that a cell of a context gave back or showed. */
export const richResultSchema: z.ZodType<RichResult> = fromSnakeCase({
  type: z.enum(['result', 'display']),
  text: text.exactOptional(),
  html: text.exactOptional(),
  json: z.unknown().exactOptional(),
  markdown: text.exactOptional(),
  latex: text.exactOptional(),
  png: text.exactOptional(),
  jpeg: text.exactOptional(),
  svg: text.exactOptional(),
  extra: mapOf(z.unknown()).exactOptional(),
  notes: texts.exactOptional(),
} satisfies JsonOf<RichResult>);

const contextError = fromSnakeCase({
  name: text,
  value: text,
  traceback: text,
} satisfies JsonOf<ContextError>);

/** The result of one execution in a context. */
export const contextExecutionSchema: z.ZodType<ContextExecution> = fromSnakeCase({
  ...result,
  results: z.array(richResultSchema),
  results_left_out: count,
  error: contextError.exactOptional(),
  execution_count: count,
  ended: text.exactOptional(),
} satisfies JsonOf<ContextExecution>);

/** What became of an installation. */
export const installResultSchema: z.ZodType<InstallResult> = fromSnakeCase({
  ok: z.boolean(),
  package: text,
  registry: z.enum(REGISTRY_NAMES),
  version: text.exactOptional(),
  message: text,
  log: text,
  duration: z.number(),
  exit_code: z.number().int(),
  outcome,
  network,
  execution_id: text,
  sandbox_id: text,
  warnings: texts.exactOptional(),
} satisfies JsonOf<InstallResult>);

/**
 * The inverse of `resultToJson`: what a surface printed, as the result that it was. Members that are not known are left
 * out. Throws `INPUT_INVALID`, naming the member, for what is no result.
 */
export function resultFromJson(json: unknown): ExecutionResult {
  const read = resultSchema.safeParse(json);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? '' : ` (${issue.path.join('.')})`;
  throw new SandboxError('INPUT_INVALID', `This is no result${where}: ${issue?.message}.`, {
    hint: 'Give the JSON of one result, as --json, MCP or HTTP has it.',
    cause: read.error,
  });
}
