import type { NetworkDecision } from '../egress/decision.ts';
import type { LimitName } from '../policy/policy.ts';
import type { Enforced, EnforcedLimit, Usage } from '../runtimes/runtime.ts';
import type { ExecutionMeta, ExecutionResult, Finding, NetworkRecord } from './result.ts';

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : '';

/** One JSON member for each field, so that a field added to `Shape` fails to compile until it is written here. */
export type JsonOf<Shape> = Record<SnakeCase<keyof Shape & string>, unknown>;

/** Members whose keys are data (file names, interpreters) and not part of the schema. */
export const MAP_MEMBERS = ['files', 'not_collected', 'versions'] as const;

/** The result as every surface prints it: snake_case by schema, absent fields left out, keys of maps untouched. */
export function resultToJson(result: ExecutionResult): Record<string, unknown> {
  return withoutUndefined({
    stdout: result.stdout,
    stderr: result.stderr,
    exit_code: result.exitCode,
    duration: result.duration,
    truncated: result.truncated,
    timed_out: result.timedOut,
    outcome: result.outcome,
    ok: result.ok,
    files: result.files && mapValues(result.files, fileToJson),
    meta: metaToJson(result.meta),
  } satisfies JsonOf<ExecutionResult>);
}

function metaToJson(meta: ExecutionMeta): Record<string, unknown> {
  return withoutUndefined({
    runtime: meta.runtime,
    fallback_from: meta.fallbackFrom,
    language: meta.language,
    enforced: meta.enforced && enforcedToJson(meta.enforced),
    truncated: meta.truncated,
    timed_out: meta.timedOut,
    blocked_imports: meta.blockedImports,
    findings: meta.findings?.map(findingToJson),
    resource_limits: resourceLimitsToJson(meta.resourceLimits),
    stdout_bytes: meta.stdoutBytes,
    stderr_bytes: meta.stderrBytes,
    versions: { ...meta.versions },
    root: meta.root && { ...meta.root },
    sandbox_id: meta.sandboxId,
    warm: meta.warm,
    execution_id: meta.executionId,
    record: meta.record && { seq: meta.record.seq, hash: meta.record.hash },
    artifact: meta.artifact,
    usage: meta.usage && usageToJson(meta.usage),
    network: meta.network && networkToJson(meta.network),
    killed_by: meta.killedBy,
    signal: meta.signal,
    oom_kills: meta.oomKills,
    not_collected: meta.notCollected && { ...meta.notCollected },
    warnings: meta.warnings,
  } satisfies JsonOf<ExecutionMeta>);
}

/** What was decided about the network, as JSON. */
export function networkToJson(network: NetworkRecord): Record<string, unknown> {
  return {
    decisions: network.decisions.map(decisionToJson),
    dropped: network.dropped,
    bytes_up: network.bytesUp,
    bytes_down: network.bytesDown,
  } satisfies JsonOf<NetworkRecord>;
}

function decisionToJson(decision: NetworkDecision): Record<string, unknown> {
  return withoutUndefined({
    at: decision.at,
    host: decision.host,
    port: decision.port,
    via: decision.via,
    method: decision.method,
    allowed: decision.allowed,
    code: decision.code,
    reason: decision.reason,
    address: decision.address,
    bytes_up: decision.bytesUp,
    bytes_down: decision.bytesDown,
    duration_sec: decision.durationSec,
  } satisfies JsonOf<NetworkDecision>);
}

/** What held, as JSON. */
export function enforcedToJson(enforced: Enforced): Record<string, unknown> {
  return withoutUndefined({
    isolation: enforced.isolation,
    network: enforced.network,
    filesystem: enforced.filesystem,
    processes: enforced.processes,
    seccomp: enforced.seccomp,
    security_options: enforced.securityOptions,
    uid: enforced.uid,
    limits: limitsToJson(enforced.limits, enforcedLimitToJson),
  } satisfies JsonOf<Enforced>);
}

function resourceLimitsToJson(limits: ExecutionMeta['resourceLimits']): Record<string, unknown> {
  return {
    ...limitsToJson(limits, (value) => value),
    max_output_kb: limits.maxOutputKb,
  } satisfies JsonOf<ExecutionMeta['resourceLimits']>;
}

function limitsToJson<Limit>(limits: Readonly<Record<LimitName, Limit>>, toJson: (limit: Limit) => unknown) {
  return {
    memory_mb: toJson(limits.memoryMb),
    disk_mb: toJson(limits.diskMb),
    processes: toJson(limits.processes),
    cpu: toJson(limits.cpu),
    timeout_sec: toJson(limits.timeoutSec),
  } satisfies JsonOf<Record<LimitName, Limit>>;
}

function enforcedLimitToJson(limit: EnforcedLimit): Record<string, unknown> {
  return { value: limit.value, by: limit.by, default: limit.default } satisfies JsonOf<EnforcedLimit>;
}

function findingToJson(finding: Finding): Record<string, unknown> {
  return {
    kind: finding.kind,
    name: finding.name,
    line: finding.line,
    message: finding.message,
  } satisfies JsonOf<Finding>;
}

function usageToJson(usage: Usage): Record<string, unknown> {
  return withoutUndefined({
    cpu_sec: usage.cpuSec,
    peak_memory_mb: usage.peakMemoryMb,
    peak_processes: usage.peakProcesses,
  } satisfies JsonOf<Usage>);
}

function fileToJson(bytes: Uint8Array): { encoding: 'utf8' | 'base64'; content: string; size: number } {
  const text = utf8OrNull(bytes);
  return text === null
    ? { encoding: 'base64', content: Buffer.from(bytes).toString('base64'), size: bytes.length }
    : { encoding: 'utf8', content: text, size: bytes.length };
}

function utf8OrNull(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    // The decoder's only way to say that these bytes are not text.
    if (!(error instanceof TypeError)) throw error;
    return null;
  }
}

/** `Object.fromEntries` also keeps a key such as `__proto__` as a plain member. */
function mapValues<Value, Mapped>(
  map: Readonly<Record<string, Value>>,
  mapped: (value: Value) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, mapped(value)]));
}

/** Absent fields are left out. */
export function withoutUndefined(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
