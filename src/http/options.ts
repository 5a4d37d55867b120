/** From what is asked for to the options of the operations. Pure. */

import type { Job } from '../operations/job.ts';
import type { ExecuteOptions, LiveRunOptions, PolicyOptions, RunOptions } from '../operations/options.ts';
import type { ManagedSandboxOptions } from '../operations/sandboxManager.ts';
import type { LimitName } from '../policy/policy.ts';
import { defined } from './defined.ts';
import type { ExecutionInput, LiveExecutionInput, ProcessInput, SandboxInput } from './schemas/inputs.ts';

type JobInput = Pick<ExecutionInput, 'code' | 'code_base64' | 'command'>;

/** The one of them that is given. */
export function jobOf({ code, code_base64, command }: JobInput): Job {
  if (command !== undefined) return { command: command as [string, ...string[]] };
  return { code: code ?? Buffer.from(code_base64 ?? '', 'base64') };
}

/** What it is written in; null for a command. */
export function languageOf({ command, language }: JobInput & { readonly language?: string | undefined }) {
  return command === undefined ? (language ?? 'python') : null;
}

/** The same as background processes and dry runs take it. */
export function backgroundJobOf(input: JobInput & { readonly language?: string | undefined }) {
  const job = jobOf(input);
  return 'command' in job ? job.command : { ...job, ...defined({ language: input.language }) };
}

type GivenInput = Pick<ExecutionInput, 'timeout' | 'args' | 'env' | 'files' | 'max_output_bytes'>;

function givenOf({ timeout, args, env, files, max_output_bytes }: GivenInput) {
  return defined({
    ...{ timeout, args, env, maxOutputBytes: max_output_bytes },
    files: files && mapped(files, ({ content, encoding }) => Buffer.from(content, encoding)),
  });
}

/** How many bytes of files and input come with it. */
export function bytesGiven({
  files = {},
  stdin = '',
  stdin_base64 = '',
}: Pick<ExecutionInput, 'files' | 'stdin' | 'stdin_base64'>): number {
  const sizes = Object.values(files).map(({ content, encoding }) => Buffer.byteLength(content, encoding));
  const input = Buffer.byteLength(stdin) + Buffer.byteLength(stdin_base64, 'base64');
  return sizes.reduce((total, size) => total + size, input);
}

/** What every execution may be given. */
export function runOptionsOf(input: Omit<LiveExecutionInput, 'max_memory_mb' | 'max_processes'>): RunOptions {
  const { language, stdin, stdin_base64, collect } = input;
  return {
    ...givenOf(input),
    ...defined({ language, collect, stdin: stdin ?? bytesOrNone(stdin_base64) }),
  };
}

export function executeOptionsOf(input: ExecutionInput): ExecuteOptions {
  return {
    ...runOptionsOf(input),
    ...policyOptionsOf(input),
    ...defined({
      memoryMb: input.memory_mb,
      diskMb: input.disk_mb,
      cpu: input.cpu,
      maxProcesses: input.max_processes,
    }),
  };
}

export function liveOptionsOf(input: LiveExecutionInput): LiveRunOptions {
  return { ...runOptionsOf(input), ...loweredBy(input) };
}

export function startOptionsOf(input: ProcessInput) {
  const { stdin, stdin_base64 } = input;
  return {
    ...givenOf(input),
    ...loweredBy(input),
    ...defined({ stdin: stdin ?? bytesOrNone(stdin_base64) }),
  };
}

export function sandboxOptionsOf(input: SandboxInput): Omit<ManagedSandboxOptions, 'runtime'> {
  const { sandbox_id, language, lifetime, idle_timeout, env, limits = {} } = input;
  return {
    ...defined({ sandboxId: sandbox_id, language, lifetime, idleTimeout: idle_timeout, env }),
    ...policyOptionsOf(input),
    limits: defined({
      memoryMb: limits.memory_mb,
      cpu: limits.cpu,
      diskMb: limits.disk_mb,
      processes: limits.processes,
      timeoutSec: limits.timeout_sec,
      maxOutputBytes: limits.max_output_bytes,
    }),
  };
}

type PolicyInput = Pick<ExecutionInput, 'network_enabled' | 'allowed_domains' | 'min_isolation' | 'requires'>;

type Wished = Pick<PolicyOptions, 'networkEnabled' | 'allowedDomains' | 'minIsolation' | 'requires'>;

function policyOptionsOf({ network_enabled, allowed_domains, min_isolation, requires }: PolicyInput): Wished {
  return defined({
    networkEnabled: network_enabled,
    allowedDomains: allowed_domains,
    minIsolation: min_isolation,
    requires: requires && {
      ...defined({ ...requires, limits: undefined }),
      ...defined({ limits: requires.limits?.map((name) => LIMITS[name]) }),
    },
  });
}

const LIMITS: Readonly<Record<LimitInput, LimitName>> = {
  memory_mb: 'memoryMb',
  disk_mb: 'diskMb',
  processes: 'processes',
  cpu: 'cpu',
  timeout_sec: 'timeoutSec',
};

type LimitInput = NonNullable<NonNullable<ExecutionInput['requires']>['limits']>[number];

/** The limits of one program, below those of its sandbox. */
export function loweredBy(input: {
  readonly max_memory_mb?: number | undefined;
  readonly max_processes?: number | undefined;
}) {
  return defined({ maxMemoryMb: input.max_memory_mb, maxProcesses: input.max_processes });
}

function bytesOrNone(base64: string | undefined): Uint8Array | undefined {
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64');
}

/** `Object.fromEntries` also keeps a key such as `__proto__` as a plain member. */
function mapped<Value, Result>(map: Readonly<Record<string, Value>>, to: (value: Value) => Result) {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, to(value)]));
}
