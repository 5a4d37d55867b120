/** What callers ask for, as JSON: names are snake_case by the schema, and keys of maps are left as they are. */
import type { Readable } from 'node:stream';
import { SandboxError } from '../errors.ts';
import { type Job, outputKb } from '../operations/job.ts';
import type { ExecuteOptions, LiveRunOptions, RunOptions, StartOptions } from '../operations/options.ts';
import type { SandboxLimits, ServiceSandboxOptions } from '../operations/sandboxService.ts';
import type { Requirements } from '../policy/policy.ts';

type Json = Readonly<Record<string, unknown>>;

/** More input goes into a file of the sandbox. */
const MAX_INPUT_BYTES = 16 * 1024 ** 2;

/** One program in a sandbox of its own. */
export async function executionJson(job: Job, options: ExecuteOptions): Promise<Json> {
  const { memoryMb, diskMb, cpu, maxProcesses } = options;
  return {
    ...(await programJson(job, options)),
    ...policyJson(options),
    ...{ memory_mb: memoryMb, disk_mb: diskMb, cpu, max_processes: maxProcesses },
  };
}

/** One program in a sandbox that lives on. */
export async function liveExecutionJson(job: Job, options: LiveRunOptions): Promise<Json> {
  return { ...(await programJson(job, options)), ...lowerLimitsJson(options) };
}

/** One program beside the others. A stream that it reads from is sent later. */
export function processJson(job: Job, { stdin, ...options }: StartOptions & { language?: string }): Json {
  return {
    ...jobJson(job),
    ...sharedJson(options),
    ...lowerLimitsJson(options),
    ...(stdin === undefined
      ? {}
      : stdin instanceof Uint8Array
        ? { stdin_base64: base64(stdin) }
        : { stdin: 'stream' }),
  };
}

/** A sandbox that lives on. */
export function sandboxJson(options: ServiceSandboxOptions): Json {
  const { sandboxId, language, lifetime, idleTimeout, env, limits } = options;
  return {
    ...{ sandbox_id: sandboxId, language, lifetime, idle_timeout: idleTimeout, env },
    ...policyJson(options),
    ...(limits === undefined ? {} : { limits: limitsJson(limits) }),
  };
}

/** What a cell or a program of a context is held to. */
export function lowerLimitsJson({
  maxMemoryMb,
  maxProcesses,
}: Pick<LiveRunOptions, 'maxMemoryMb' | 'maxProcesses'>): Json {
  return { max_memory_mb: maxMemoryMb, max_processes: maxProcesses };
}

/** How much of each stream a result keeps, in whole bytes. Throws `INPUT_INVALID` when it is said in both units. */
export function outputBytesOf(
  options: Pick<RunOptions, 'maxOutputKb' | 'maxOutputBytes'>,
): number | undefined {
  const kb = outputKb(options);
  return kb === undefined ? undefined : Math.max(1, Math.round(kb * 1024));
}

async function programJson(job: Job, options: RunOptions): Promise<Json> {
  const { stdin, collect } = options;
  const input = stdin === undefined || typeof stdin === 'string' ? stdin : await inputBytes(stdin);
  return {
    ...jobJson(job),
    ...sharedJson(options),
    collect,
    ...(typeof input === 'string'
      ? { stdin: input }
      : input === undefined
        ? {}
        : { stdin_base64: base64(input) }),
  };
}

function jobJson(job: Job): Json {
  if ('command' in job) return { command: job.command };
  return typeof job.code === 'string' ? { code: job.code } : { code_base64: base64(job.code) };
}

function sharedJson(
  options: Pick<
    RunOptions,
    'language' | 'timeout' | 'args' | 'env' | 'files' | 'maxOutputKb' | 'maxOutputBytes'
  >,
): Json {
  const { language, timeout, args, env, files } = options;
  return {
    ...{ language, timeout, args, env, max_output_bytes: outputBytesOf(options) },
    ...(files === undefined ? {} : { files: Object.fromEntries(Object.entries(files).map(fileJson)) }),
  };
}

function fileJson([path, content]: readonly [string, string | Uint8Array]): [string, Json] {
  return typeof content === 'string'
    ? [path, { content, encoding: 'utf8' }]
    : [path, { content: base64(content), encoding: 'base64' }];
}

type PolicyWish = Pick<
  ExecuteOptions,
  'network' | 'networkEnabled' | 'allowedDomains' | 'minIsolation' | 'requires'
>;

function policyJson({ network, networkEnabled, allowedDomains, minIsolation, requires }: PolicyWish): Json {
  return {
    network_enabled: networkEnabled ?? isNetworkEnabled(network),
    allowed_domains: allowedDomains,
    min_isolation: minIsolation,
    ...(requires === undefined ? {} : { requires: requirementsJson(requires) }),
  };
}

function isNetworkEnabled(network: PolicyWish['network']): boolean | undefined {
  if (network !== 'open') return network && network === 'allowlist';
  throw new SandboxError('POLICY_DENIED', 'A server lets nobody reach everything.', {
    hint: 'Name whom the code has to reach: { networkEnabled: true, allowedDomains: [...] }.',
  });
}

const LIMIT_NAMES_IN_JSON = {
  memoryMb: 'memory_mb',
  diskMb: 'disk_mb',
  processes: 'processes',
  cpu: 'cpu',
  timeoutSec: 'timeout_sec',
} as const;

function requirementsJson({ limits, ...requires }: Requirements): Json {
  return {
    ...requires,
    ...(limits === undefined ? {} : { limits: limits.map((name) => LIMIT_NAMES_IN_JSON[name]) }),
  };
}

function limitsJson({ memoryMb, cpu, diskMb, processes, timeoutSec, maxOutputBytes }: SandboxLimits): Json {
  return {
    ...{ memory_mb: memoryMb, cpu, disk_mb: diskMb, processes },
    ...{ timeout_sec: timeoutSec, max_output_bytes: maxOutputBytes },
  };
}

/** A stream is read to its end before anything is sent; what it reads on the way is the program's own affair no more. */
async function inputBytes(stdin: Uint8Array | Readable): Promise<Uint8Array> {
  if (stdin instanceof Uint8Array) return stdin;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk as string | Uint8Array);
    size += bytes.length;
    if (size > MAX_INPUT_BYTES) throw tooMuchInput();
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function tooMuchInput(): SandboxError {
  return new SandboxError('INPUT_INVALID', `The input has more than ${MAX_INPUT_BYTES} bytes.`, {
    hint: "Write it to a file of a sandbox first, or start a process with { stdin: 'stream' }.",
  });
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
