/** What can be asked for. Unknown members are refused. */
import { z } from '@hono/zod-openapi';
import { REGISTRY_NAMES } from '../../languages/installers/installer.ts';
import { ISOLATION_LEVELS } from '../../policy/isolation.ts';

const base64 = z
  .string()
  .refine((text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text), 'is no base64')
  .openapi({ format: 'byte' });

const noNul = z.string().refine((text) => !text.includes('\0'), 'must not hold a NUL');
const seconds = z.number().positive();
const whole = z.number().int().positive();

const env = z
  .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a name of a variable'), noNul)
  .openapi({ description: 'Variables of the program; nothing is inherited.' });

const language = z.string().openapi({ description: 'python, javascript or shell.', example: 'python' });

const content = z
  .strictObject({ content: z.string(), encoding: z.enum(['utf8', 'base64']).default('utf8') })
  .openapi('FileInput');

const maxOutputBytes = whole.openapi({ description: 'How much of each stream the result keeps.' });

const job = {
  code: z.string().optional(),
  code_base64: base64.optional(),
  command: z.array(noNul).min(1).optional().openapi({ description: 'A program and its arguments.' }),
  language: language.optional(),
};

const given = {
  timeout: seconds.optional().openapi({ description: 'Seconds by the wall clock.' }),
  args: z.array(noNul).optional(),
  env: env.optional(),
  files: z
    .record(z.string().min(1), content)
    .optional()
    .openapi({ description: 'Files to put into the workspace before, by their path in it.' }),
  max_output_bytes: maxOutputBytes.optional(),
};

const run = {
  ...job,
  ...given,
  stdin: z.string().optional(),
  stdin_base64: base64.optional(),
  collect: z
    .array(z.string().min(1))
    .optional()
    .openapi({ description: 'Files to bring back in the result.' }),
};

const minIsolation = z.enum(ISOLATION_LEVELS);

const requires = z
  .strictObject({
    isolation: minIsolation.optional(),
    network: z.enum(['none', 'allowlist', 'open']).optional(),
    filesystem: z.enum(['private', 'host']).optional(),
    processes: z.enum(['contained', 'best-effort']).optional(),
    seccomp: z.boolean().optional(),
    limits: z.array(z.enum(['memory_mb', 'disk_mb', 'processes', 'cpu', 'timeout_sec'])).optional(),
  })
  .openapi('Requirements');

const network = {
  network_enabled: z
    .boolean()
    .optional()
    .openapi({ description: 'Reaches the allowed domains and nobody else.' }),
  allowed_domains: z.array(z.string().min(1).max(300)).max(1000).optional(),
  min_isolation: minIsolation.optional(),
  requires: requires.optional(),
};

const limits = {
  max_memory_mb: whole.optional(),
  max_processes: whole.optional(),
};

const ONE_JOB = 'Give exactly one of code, code_base64 and command.';

function isOneJob(body: { code?: unknown; code_base64?: unknown; command?: unknown }): boolean {
  return [body.code, body.code_base64, body.command].filter((value) => value !== undefined).length === 1;
}

const ONE_INPUT = 'Give stdin or stdin_base64, not both.';

function isOneInput(body: { stdin?: unknown; stdin_base64?: unknown }): boolean {
  return body.stdin === undefined || body.stdin_base64 === undefined;
}

/** One program in a sandbox of its own. */
export const executionInput = z
  .strictObject({
    ...run,
    ...network,
    memory_mb: whole.optional(),
    disk_mb: whole.optional(),
    cpu: z.number().positive().optional().openapi({ description: 'Cores.' }),
    max_processes: whole.optional(),
  })
  .refine(isOneJob, ONE_JOB)
  .refine(isOneInput, ONE_INPUT)
  .openapi('ExecutionInput');

/** One program in a sandbox that lives on. */
export const liveExecutionInput = z
  .strictObject({ ...run, ...limits })
  .refine(isOneJob, ONE_JOB)
  .refine(isOneInput, ONE_INPUT)
  .openapi('SandboxExecutionInput');

export const processInput = z
  .strictObject({
    ...job,
    ...given,
    ...limits,
    stdin: z.literal('stream').optional().openapi({ description: 'Input comes later, with PUT …/stdin.' }),
    stdin_base64: base64.optional(),
  })
  .refine(isOneJob, ONE_JOB)
  .refine(isOneInput, ONE_INPUT)
  .openapi('ProcessInput');

export const sandboxInput = z
  .strictObject({
    sandbox_id: z
      .string()
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
        'must be 1 to 64 letters, digits, dots, hyphens and underlines',
      )
      .optional(),
    language: language.optional(),
    lifetime: seconds.optional().openapi({ description: 'Seconds from its making.' }),
    idle_timeout: seconds.optional().openapi({ description: 'Seconds without use.' }),
    env: env.optional(),
    ...network,
    limits: z
      .strictObject({
        memory_mb: whole.optional(),
        cpu: z.number().positive().optional(),
        disk_mb: whole.optional(),
        processes: whole.optional(),
        timeout_sec: seconds.optional(),
        max_output_bytes: maxOutputBytes.optional(),
      })
      .optional(),
  })
  .openapi('SandboxInput');

export const contextInput = z
  .strictObject({ language: language.optional(), env: env.optional(), ...limits })
  .openapi('ContextInput');

export const cellInput = z
  .strictObject({
    code: z.string(),
    timeout: seconds.optional(),
    max_output_bytes: maxOutputBytes.optional(),
  })
  .openapi('CellInput');

export const packageInput = z
  .strictObject({
    package: z.string().min(1).max(500).openapi({ example: 'requests==2.31.0' }),
    registry: z.enum(REGISTRY_NAMES).optional(),
    timeout: seconds.optional(),
    allow_scripts: z.boolean().optional(),
  })
  .openapi('PackageInput');

export const answerInput = z
  .strictObject({
    hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'is the hash of no question')
      .openapi({
        description: 'Of the question as it was shown.',
      }),
    approved: z.boolean(),
    reason: z.string().max(1000).optional(),
    grant: z
      .strictObject({
        scope: z.enum(['exact', 'operation']),
        for_sec: seconds.optional(),
        count: whole.optional(),
      })
      .optional(),
  })
  .openapi('ApprovalAnswer');

export const waitQuery = z.strictObject({
  wait: z.enum(['true', 'false']).optional().openapi({
    description: 'false: answers at once; the execution goes on whoever listens.',
  }),
});

export const sandboxParams = z.strictObject({ id: z.string().max(100) });
export const executionParams = z.strictObject({ id: z.string().max(100) });

export type ExecutionInput = z.output<typeof executionInput>;
export type LiveExecutionInput = z.output<typeof liveExecutionInput>;
export type ProcessInput = z.output<typeof processInput>;
export type SandboxInput = z.output<typeof sandboxInput>;
