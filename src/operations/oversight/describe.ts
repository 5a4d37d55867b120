/** What is asked for and what came of it, as it is recorded: contents by their hashes. Pure. */
import { type Digest, digest } from '../../audit/digest.ts';
import type { Policy } from '../../policy/policy.ts';
import type { ExecutionResult, NetworkRecord } from '../../result/result.ts';
import { enforcedToJson, resultToJson, withoutUndefined } from '../../result/resultJson.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Prepared } from '../job.ts';
import { instanceOf } from './instanceOf.ts';
import type { OutputDigests } from './outputDigests.ts';
import type { Request } from './oversight.ts';

/** How much of what a program is given besides its code is shown as text. */
const MAX_SHOWN_BYTES = 64 * 1024;

/** A content with its text where that is short enough to be read. */
export function shown(data: string | Uint8Array): Digest & { readonly text?: string } {
  const bytes = Buffer.from(data);
  const text = bytes.length > MAX_SHOWN_BYTES ? undefined : bytes.toString('utf8');
  const isText = text !== undefined && Buffer.from(text).equals(bytes);
  return { ...digest(bytes), ...(isText ? { text } : {}) };
}

/** Running code or a command. */
export function describeRun(
  prepared: Prepared,
  sandbox: Pick<Sandbox, 'id'> | null,
  stdin: unknown,
): Request {
  const { executionId, language, program, env, maxOutputKb } = prepared;
  const { run, args, files, collect, timeoutSec, limits, signal } = program;
  const isCode = 'code' in run;
  const isStream = stdin !== undefined && !(stdin instanceof Uint8Array);
  return {
    ...{ id: executionId, operation: 'execute', sandboxId: sandbox?.id ?? null, signal },
    ...(sandbox === null ? {} : { sandboxInstance: instanceOf(sandbox) }),
    ...(isCode ? { code: { language: language?.name ?? null, bytes: run.code } } : {}),
    parameters: {
      ...(isCode ? {} : { command: [...run.command] }),
      args: [...args],
      env: mapOf(env, digest),
      stdin: stdin === undefined ? null : stdin instanceof Uint8Array ? shown(stdin) : 'stream',
      files: mapOf(files, shown),
      collect: [...collect],
      ...(prepared.isDry ? { dry_run: true } : {}),
      ...{ timeout_sec: timeoutSec ?? null, max_output_kb: maxOutputKb },
      ...(limits?.memoryMb === undefined ? {} : { memory_mb: limits.memoryMb }),
      ...(limits?.processes === undefined ? {} : { processes: limits.processes }),
    },
    ...(isStream ? { unknownContent: 'Its standard input is a stream, which is read while it runs.' } : {}),
    secrets: Object.values(env),
  };
}

/** What came of running it, as it is: secrets are taken out where it is recorded. */
export function describeResult(
  result: ExecutionResult,
  output?: OutputDigests,
): { readonly ok: boolean } & Readonly<Record<string, unknown>> {
  const { meta, ...told } = resultToJson(result) as { meta: Record<string, unknown> } & Record<
    string,
    unknown
  >;
  const { network } = result.meta;
  return {
    ...{ ok: result.ok, outcome: result.outcome, exit_code: result.exitCode, duration: result.duration },
    ...{ truncated: told['truncated'], ...output?.toJson() },
    ...(result.files === undefined ? {} : { files: mapOf(result.files, digest) }),
    ...pick(meta, [
      'runtime',
      'fallback_from',
      'warm',
      'sandbox_id',
      'enforced',
      'versions',
      'root',
      'usage',
    ]),
    ...pick(meta, ['killed_by', 'signal', 'oom_kills', 'not_collected', 'artifact', 'warnings']),
    ...(network === undefined ? {} : { network: describeNetwork(network) }),
    ...('results' in result ? { results: digest(JSON.stringify(result.results)) } : {}),
  };
}

/** Sums, and who was asked for how often. */
export function describeNetwork(network: NetworkRecord): Readonly<Record<string, unknown>> {
  const hosts = new Map<string, { host: string; port: number; allowed: boolean; times: number }>();
  for (const { host, port, allowed } of network.decisions) {
    const key = `${host}:${port} ${allowed}`;
    const known = hosts.get(key) ?? { host, port, allowed, times: 0 };
    hosts.set(key, { ...known, times: known.times + 1 });
  }
  const { bytesUp, bytesDown, dropped } = network;
  return { bytes_up: bytesUp, bytes_down: bytesDown, hosts: [...hosts.values()], not_told: dropped };
}

export function describePolicy({
  network,
  egress,
  limits,
  requires,
}: Policy): Readonly<Record<string, unknown>> {
  const { timeoutSec, memoryMb, diskMb, processes, cpu } = limits;
  return withoutUndefined({
    network,
    allowed_domains: egress?.allowedDomains,
    host_map: egress?.hostMap,
    limits: {
      timeout_sec: timeoutSec.value,
      memory_mb: memoryMb.value,
      disk_mb: diskMb.value,
      processes: processes.value,
      cpu: cpu?.value ?? null,
    },
    min_isolation: requires.isolation,
  });
}

export function describeSandbox(sandbox: Sandbox): Readonly<Record<string, unknown>> {
  const { runtime, runtimeVersion, fallbackFrom, enforced } = sandbox;
  return withoutUndefined({
    ...{ runtime, runtime_version: runtimeVersion, fallback_from: fallbackFrom },
    enforced: enforcedToJson(enforced),
  });
}

function mapOf<Value, Mapped>(
  map: Readonly<Record<string, Value>>,
  mapped: (value: Value) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, mapped(value)]));
}

function pick(from: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (name in from ? [[name, from[name]]] : [])));
}
