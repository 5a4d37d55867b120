/** What each tool takes and what it answers. The names are the promise of the product to models and their clients. */
import { z } from 'zod';
import { REGISTRY_NAMES } from '../../languages/installers/installer.ts';
import { LANGUAGE_NAMES } from '../../languages/language.ts';
import type { Tool } from './tool.ts';

/** Asks for a sandbox that lives on after the call. */
export const NEW = 'new';

const id = z.string().min(1).max(64);

const keptId = id.describe('The id of a sandbox that an earlier call has made.');

const anyId = id.describe(
  `The id of a sandbox that an earlier call has made, or "${NEW}" for another one. Without it, "${NEW}".`,
);

const path = z
  .string()
  .min(1)
  .max(4096)
  .describe('Relative to /workspace, which is where code runs, or absolute below it.');

export const INPUTS = {
  code_execute: z.strictObject({
    language: z.enum(LANGUAGE_NAMES).default('python'),
    code: z.string().describe('The whole program. What it prints is the answer.'),
    timeout: z
      .number()
      .positive()
      .optional()
      .describe('Seconds that it may take. The operator has a limit, which is used without this.'),
    network_enabled: z
      .boolean()
      .optional()
      .describe('Whether it needs hosts outside; only those that the operator allows can be reached.'),
    allowed_domains: z
      .array(z.string().min(1).max(300))
      .max(100)
      .optional()
      .describe(
        'The hosts that it needs, such as "example.org" or "*.example.org"; no others can be reached.',
      ),
    sandbox_id: id
      .optional()
      .describe(
        `Without it, the program runs once in a sandbox of its own and nothing is kept. "${NEW}" keeps the sandbox and answers its id: files stay, and variables, imports and functions of each language as well. With an id, it runs there.`,
      ),
  }),
  code_install_package: z.strictObject({
    package: z
      .string()
      .min(1)
      .max(300)
      .describe('One package, perhaps with a version: "requests==2.31.0", "lodash@4".'),
    registry: z.enum(REGISTRY_NAMES).default('pypi').describe('"pypi" for Python, "npm" for JavaScript.'),
    sandbox_id: anyId.optional(),
  }),
  code_write_file: z.strictObject({
    path,
    content: z.string(),
    encoding: z.enum(['utf8', 'base64']).default('utf8').describe('How content is written.'),
    sandbox_id: anyId.optional(),
  }),
  code_read_file: z.strictObject({ path, sandbox_id: keptId }),
  code_list_files: z.strictObject({ path: path.default('.'), sandbox_id: keptId }),
  code_destroy_sandbox: z.strictObject({ sandbox_id: keptId }),
} as const;

const sandboxId = z.string().describe('Give it to later calls.');
const expiresAt = z.iso
  .datetime()
  .describe('When the sandbox ends at the latest; earlier when it is not used.');
const warnings = z.array(z.string()).describe('What was not taken as it was asked for.');

const richResult = z.looseObject({
  type: z.enum(['result', 'display']),
  text: z.string().optional(),
  notes: z.array(z.string()).optional(),
});

const OUTPUTS = {
  code_execute: z.object({
    ok: z.boolean().describe('Whether the program ended by itself with exit code 0.'),
    outcome: z.enum([
      ...['exited', 'timed_out', 'killed', 'out_of_memory', 'cancelled', 'blocked', 'denied'],
    ] as [string, ...string[]]),
    exit_code: z.number().int(),
    stdout: z.string(),
    stderr: z.string(),
    truncated: z.boolean().describe('Whether more was printed than stands here; meta has the true counts.'),
    timed_out: z.boolean(),
    duration: z.number().describe('Seconds.'),
    meta: z.looseObject({
      runtime: z.string(),
      enforced: z.looseObject({}).nullable().describe('What it was really held to.'),
      stdout_bytes: z.number().int(),
      stderr_bytes: z.number().int(),
      warnings: z.array(z.string()).optional(),
    }),
    results: z
      .array(richResult)
      .optional()
      .describe(
        'In a kept sandbox: the value of the last expression, and what was shown. Pictures come as images.',
      ),
    results_left_out: z.number().int().optional(),
    error: z.object({ name: z.string(), value: z.string(), traceback: z.string() }).optional(),
    execution_count: z.number().int().optional(),
    ended: z.string().optional().describe('Why the state of this language is lost.'),
    sandbox_id: sandboxId.optional(),
    expires_at: expiresAt.optional(),
  }),
  code_install_package: z.object({
    ok: z.boolean(),
    package: z.string(),
    registry: z.string(),
    version: z.string().optional(),
    message: z.string(),
    log: z.string(),
    duration: z.number(),
    exit_code: z.number().int(),
    outcome: z.string(),
    execution_id: z.string(),
    network: z.looseObject({}),
    warnings: warnings.optional(),
    sandbox_id: sandboxId,
    expires_at: expiresAt,
  }),
  code_write_file: z.object({
    path: z.string(),
    size: z.number().int().describe('Bytes.'),
    sandbox_id: sandboxId,
    expires_at: expiresAt,
  }),
  code_read_file: z.object({
    path: z.string(),
    encoding: z.enum(['utf8', 'base64']),
    size: z.number().int().describe('Bytes of the whole file.'),
    content: z
      .string()
      .optional()
      .describe('Absent where it is a picture, which comes as an image, or too long.'),
    truncated: z.boolean().describe('Whether the content is not whole.'),
    sandbox_id: sandboxId,
  }),
  code_list_files: z.object({
    files: z.array(
      z.object({
        name: z.string(),
        path: z.string(),
        type: z.string(),
        size: z.number().int(),
        modified_at: z.string(),
      }),
    ),
    truncated: z.boolean().describe('Whether there are more.'),
    sandbox_id: sandboxId,
  }),
  code_destroy_sandbox: z.object({ sandbox_id: z.string(), destroyed: z.literal(true) }),
} as const;

/** The tools, in the order in which they are told to a model. */
export const TOOLS: readonly Tool[] = [
  {
    name: 'code_execute',
    title: 'Run code',
    description:
      'Runs a Python, JavaScript or shell program in an isolated sandbox and answers what it printed. There is no network unless it is asked for and allowed. Print what you want to see. A program that fails is answered with its error: mend it and run it again. To keep files and variables, and to see charts (matplotlib), pass sandbox_id "new" and then the id that is answered.',
    ...{ input: INPUTS.code_execute, output: OUTPUTS.code_execute },
    annotations: {
      ...{ readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    },
  },
  {
    name: 'code_install_package',
    title: 'Install a package',
    description:
      'Installs one package from PyPI or npm in a kept sandbox, for the code that runs there later. Its registry can be reached only for that.',
    ...{ input: INPUTS.code_install_package, output: OUTPUTS.code_install_package },
    annotations: {
      ...{ readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    },
  },
  {
    name: 'code_write_file',
    title: 'Write a file',
    description: 'Writes a file in a kept sandbox, over one that is there.',
    ...{ input: INPUTS.code_write_file, output: OUTPUTS.code_write_file },
    annotations: {
      ...{ readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
  },
  {
    name: 'code_read_file',
    title: 'Read a file',
    description: 'Reads a file of a kept sandbox: text as text, pictures as images.',
    ...{ input: INPUTS.code_read_file, output: OUTPUTS.code_read_file },
    annotations: {
      ...{ readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
  },
  {
    name: 'code_list_files',
    title: 'List files',
    description: 'Lists the files of a folder of a kept sandbox.',
    ...{ input: INPUTS.code_list_files, output: OUTPUTS.code_list_files },
    annotations: {
      ...{ readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
  },
  {
    name: 'code_destroy_sandbox',
    title: 'Destroy a sandbox',
    description: 'Ends a kept sandbox with all that is in it. Sandboxes that are not used end by themselves.',
    ...{ input: INPUTS.code_destroy_sandbox, output: OUTPUTS.code_destroy_sandbox },
    annotations: {
      ...{ readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
  },
];
