import { Readable } from 'node:stream';
import { z } from 'zod';
import { SandboxError } from '../errors.ts';
import type { Gate } from '../gate/approval/gate.ts';
import { REGISTRY_NAMES } from '../languages/installers/installer.ts';
import { ISOLATION_LEVELS } from '../policy/isolation.ts';
import { LIMIT_NAMES } from '../policy/policy.ts';
import type { OnOutput } from '../result/output.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import type { OnDecision } from '../sandbox/sandboxNetwork.ts';
import type { WarmEvent } from '../sandbox/warm/poolState.ts';

const positive = z.number().positive().finite();
// At most what fits a size in bytes.
const wholeMb = positive.int().max(2 ** 33);
const noNul = z.string().refine((text) => !text.includes('\0'), 'must not hold a NUL');
const bytes = z.union([z.string(), z.instanceof(Uint8Array)]);

const runOptions = {
  language: z.string(),
  timeout: positive,
  signal: z.instanceof(AbortSignal),
  onOutput: z.custom<OnOutput>((value) => typeof value === 'function', 'must be a function'),
  maxOutputKb: positive,
  maxOutputBytes: positive.int(),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a name of a variable'), noNul),
  stdin: z.union([bytes, z.instanceof(Readable)]),
  args: z.array(noNul),
  files: z.record(z.string().min(1), bytes),
  collect: z.array(z.string().min(1)),
};

const liveOptions = {
  ...runOptions,
  maxMemoryMb: wholeMb,
  maxProcesses: positive.int(),
  onStart: z.custom<() => void>((value) => typeof value === 'function', 'must be a function'),
};

const { language: _language, ...execOptions } = liveOptions;

const startOptions = {
  timeout: runOptions.timeout,
  signal: runOptions.signal,
  onOutput: runOptions.onOutput,
  maxOutputBytes: runOptions.maxOutputBytes,
  maxMemoryMb: liveOptions.maxMemoryMb,
  maxProcesses: liveOptions.maxProcesses,
  env: runOptions.env,
  args: runOptions.args,
  files: runOptions.files,
  stdin: z.union([z.literal('stream'), z.instanceof(Uint8Array), z.instanceof(Readable)], {
    error: "must be 'stream', bytes or a Readable; text is written with write()",
  }),
};

// The longest delay that a timer of Node holds.
const seconds = positive.max(Math.floor((2 ** 31 - 1) / 1000));

const lifeOptions = {
  lifetime: seconds,
  idleTimeout: seconds,
  forwardPorts: z.boolean(),
  env: runOptions.env,
  signal: runOptions.signal,
};

const policyOptions = {
  memoryMb: wholeMb,
  diskMb: wholeMb,
  // The kernel's own largest number of processes (PID_MAX_LIMIT).
  maxProcesses: positive.int().max(4_194_304),
  cpu: positive,
  network: z.enum(['none', 'allowlist', 'open']),
  networkEnabled: z.boolean(),
  allowedDomains: z.array(z.string().min(1).max(300)).max(1000),
  onNetwork: z.custom<OnDecision>((value) => typeof value === 'function', 'must be a function'),
  minIsolation: z.enum(ISOLATION_LEVELS),
  requires: z.strictObject({
    isolation: z.enum(ISOLATION_LEVELS).optional(),
    network: z.enum(['none', 'allowlist', 'open']).optional(),
    filesystem: z.enum(['private', 'host']).optional(),
    processes: z.enum(['contained', 'best-effort']).optional(),
    seccomp: z.boolean().optional(),
    limits: z.array(z.enum(LIMIT_NAMES)).optional(),
  }),
};

/** Whether it has a function of this name, as something that a caller has made. */
const has =
  (name: string) =>
  (value: unknown): boolean =>
    typeof (value as Record<string, unknown> | null | undefined)?.[name] === 'function';

const placeOptions = {
  runtime: z.custom<string | Runtime>(
    (value) => (typeof value === 'string' && value !== '') || has('create')(value),
    "must be a runtime's name, or a runtime",
  ),
  configFile: z.string().min(1),
  cwd: z.string().min(1),
  gate: z.custom<Gate>(has('decide'), 'must be a gate'),
};

const stream = z.enum(['stdout', 'stderr']);

const limits = z
  .strictObject({
    memoryMb: policyOptions.memoryMb,
    cpu: policyOptions.cpu,
    diskMb: policyOptions.diskMb,
    processes: policyOptions.maxProcesses,
    timeoutSec: positive,
    maxOutputBytes: runOptions.maxOutputBytes,
  })
  .partial();

const warm = z
  .strictObject({
    min: z.number().int().min(0).max(10_000),
    max: z.number().int().min(1).max(10_000),
    memoryMb: wholeMb,
    idleSec: seconds,
    preload: z.array(z.string().regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/, 'is not a name of a Python module')),
    maxConcurrent: z.number().int().min(1),
    onEvent: z.custom<(event: WarmEvent) => void>(
      (value) => typeof value === 'function',
      'must be a function',
    ),
  })
  .partial();

const schemas = {
  oneShot: z.strictObject({ ...placeOptions, warm: z.union([z.boolean(), warm]) }).partial(),
  execute: z.strictObject({ ...runOptions, ...policyOptions }).partial(),
  many: z
    .strictObject({
      // More processes at a time than any machine has.
      concurrency: positive.int().max(10_000),
      sandbox: z.custom<object>(has('execute'), 'must have execute'),
      onResult: z.custom<() => void>((value) => typeof value === 'function', 'must be a function'),
      signal: runOptions.signal,
    })
    .partial(),
  create: z
    .strictObject({
      ...placeOptions,
      ...policyOptions,
      ...lifeOptions,
      language: runOptions.language,
      timeout: runOptions.timeout,
      maxOutputKb: runOptions.maxOutputKb,
      maxOutputBytes: runOptions.maxOutputBytes,
    })
    .partial(),
  run: z.strictObject(liveOptions).partial(),
  exec: z.strictObject(execOptions).partial(),
  start: z.strictObject(startOptions).partial(),
  context: z
    .strictObject({
      env: runOptions.env,
      signal: runOptions.signal,
      maxMemoryMb: liveOptions.maxMemoryMb,
      maxProcesses: liveOptions.maxProcesses,
    })
    .partial(),
  cell: z
    .strictObject({
      timeout: runOptions.timeout,
      maxOutputKb: runOptions.maxOutputKb,
      maxOutputBytes: runOptions.maxOutputBytes,
      signal: runOptions.signal,
      onOutput: runOptions.onOutput,
      onResult: z.custom<(result: unknown) => void>(
        (value) => typeof value === 'function',
        'must be a function',
      ),
    })
    .partial(),
  lines: z.strictObject({ stream }).partial(),
  wait: z.strictObject({ timeout: seconds }).partial(),
  waitForLine: z.strictObject({ timeout: seconds, stream }).partial(),
  forward: z.strictObject({ hostPort: z.number().int().min(0).max(65_535) }).partial(),
  manager: z
    .strictObject({
      ...placeOptions,
      maxSandboxes: positive.int(),
      warm: z.union([z.boolean(), warm]),
      limits,
    })
    .partial(),
  managed: z
    .strictObject({
      ...lifeOptions,
      language: runOptions.language,
      sandboxId: z
        .string()
        .regex(
          /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
          'must be 1 to 64 letters, digits, dots, hyphens and underlines, the first a letter or a digit',
        ),
      networkEnabled: policyOptions.networkEnabled,
      allowedDomains: policyOptions.allowedDomains,
      network: policyOptions.network,
      onNetwork: policyOptions.onNetwork,
      minIsolation: policyOptions.minIsolation,
      requires: policyOptions.requires,
      limits,
    })
    .partial(),
  install: z
    .strictObject({
      registry: z.enum(REGISTRY_NAMES),
      timeout: runOptions.timeout,
      signal: runOptions.signal,
      onOutput: runOptions.onOutput,
      allowScripts: z.boolean(),
      onStart: liveOptions.onStart,
    })
    .partial(),
};

const argv = z.array(noNul).min(1);

/** Checks a command that comes from a program. Throws `INPUT_INVALID`. */
export function checkCommand(command: unknown): asserts command is readonly [string, ...string[]] {
  const checked = argv.safeParse(command);
  if (checked.success && checked.data[0] !== '') return;
  throw new SandboxError(
    'INPUT_INVALID',
    'A command is a list of texts without NUL, the first of them a program.',
    {
      hint: "Give it as in exec(['pytest', '-q']).",
    },
  );
}

type Issue = z.core.$ZodIssue;

/** Checks options that come from a program. Throws `INPUT_INVALID` naming the option and its value. */
export function checkOptions(kind: keyof typeof schemas, options: object): void {
  const checked = schemas[kind].safeParse(options);
  if (checked.success) return;
  const [first] = checked.error.issues;
  const issue = first && innermost(first);
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path.map(String) ?? []), ...unknown];
  const value = path.reduce<unknown>(
    (held, key) => (held as Record<string, unknown> | undefined)?.[key],
    options,
  );
  // Not the values of variables: they may be secrets.
  const shown =
    path[0] === 'env' || path.length === 0
      ? ''
      : ` (${String(JSON.stringify(value) ?? value).slice(0, 100)})`;
  throw new SandboxError(
    'INPUT_INVALID',
    `The option "${path.join('.') || 'options'}"${shown}: ${issue?.message}.`,
    {
      hint: hintFor(kind, path),
      details: { option: path.join('.') },
    },
  );
}

/** Where an option is looked for that is given elsewhere. */
const NEIGHBOURS = {
  oneShot: { kind: 'execute', call: 'execute()' },
  execute: { kind: 'oneShot', call: 'getSandbox()' },
} as const;

function hintFor(kind: keyof typeof schemas, path: readonly string[]): string {
  const [option = ''] = path;
  if (isKeyOf(NEIGHBOURS, kind) && !isKeyOf(schemas[kind].shape, option)) {
    const neighbour = NEIGHBOURS[kind];
    if (isKeyOf(schemas[neighbour.kind].shape, option)) return `Give it to ${neighbour.call}.`;
  }
  return `Known options: ${knownAt(kind, path.at(-2)).join(', ')}.`;
}

/** The options that there are, or those within one of them. */
function knownAt(kind: keyof typeof schemas, within: string | undefined): string[] {
  const nested = { warm, limits, requires: policyOptions.requires };
  const { shape } = isKeyOf(nested, within) ? nested[within] : schemas[kind];
  return Object.keys(shape);
}

function isKeyOf<Table extends object>(
  table: Table,
  name: string | undefined,
): name is Extract<keyof Table, string> {
  return name !== undefined && Object.hasOwn(table, name);
}

/** What is wrong in the one of several forms that was meant. */
function innermost(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const within = issue.errors
    .flat()
    .find(({ code, path }) => code === 'unrecognized_keys' || path.length > 0);
  return within === undefined ? issue : innermost({ ...within, path: [...issue.path, ...within.path] });
}
