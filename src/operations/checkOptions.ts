import { Readable } from 'node:stream';
import { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { ISOLATION_LEVELS } from '../policy/isolation.ts';
import { LIMIT_NAMES } from '../policy/policy.ts';
import type { OnOutput } from '../result/output.ts';

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
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a name of a variable'), noNul),
  stdin: z.union([bytes, z.instanceof(Readable)]),
  args: z.array(noNul),
  files: z.record(z.string().min(1), bytes),
  collect: z.array(z.string().min(1)),
};

const policyOptions = {
  memoryMb: wholeMb,
  diskMb: wholeMb,
  // The kernel's own largest number of processes (PID_MAX_LIMIT).
  maxProcesses: positive.int().max(4_194_304),
  cpu: positive,
  network: z.enum(['none', 'allowlist', 'open']),
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

const schemas = {
  run: z.strictObject(runOptions).partial(),
  create: z
    .strictObject({
      ...policyOptions,
      language: runOptions.language,
      timeout: runOptions.timeout,
      signal: runOptions.signal,
    })
    .partial(),
  execute: z.strictObject({ ...runOptions, ...policyOptions }).partial(),
};

/** Checks options that come from a program. Throws `INPUT_INVALID` naming the option and its value. */
export function checkOptions(kind: keyof typeof schemas, options: object): void {
  const checked = schemas[kind].safeParse(options);
  if (checked.success) return;
  const [issue] = checked.error.issues;
  const path = issue?.code === 'unrecognized_keys' ? issue.keys : (issue?.path.map(String) ?? []);
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
      hint: `Known options: ${Object.keys(schemas[kind].shape).join(', ')}.`,
      details: { option: path.join('.') },
    },
  );
}
