/** What a server answers, besides results. */
import { z } from 'zod';
import type { LeftOut } from '../archive/entry.ts';
import { LANGUAGE_NAMES } from '../languages/language.ts';
import type { Effects, FileEffect, FileState, HostEffect } from '../operations/dryRun/effects.ts';
import type { SandboxInfo } from '../operations/sandboxService.ts';
import { fromSnakeCase } from '../result/fromSnakeCase.ts';
import type { ExecutionResult } from '../result/result.ts';
import { enforcedSchema, resultSchema } from '../result/resultFromJson.ts';
import type { JsonOf } from '../result/resultJson.ts';
import type { Enforced, FileEntry, Unpacked } from '../runtimes/runtime.ts';
import type { ProcessStatus } from '../sandbox/background.ts';
import type { OutputPage } from '../sandbox/outputPage.ts';

const text = z.string();
const count = z.number().int().nonnegative();
const stream = z.enum(['stdout', 'stderr']);

/** Exactly these bytes: what is no base64 is refused, and not read as far as it goes. */
const base64 = text
  .refine((value) => value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value), 'Invalid base64')
  .transform((value): Uint8Array => Buffer.from(value, 'base64'));

/** A sandbox, as a server tells of it. */
export interface SandboxAnswer extends SandboxInfo {
  readonly enforced: Enforced;
  readonly warnings: readonly string[];
}

export const sandboxAnswer: z.ZodType<SandboxAnswer> = fromSnakeCase({
  sandbox_id: text,
  runtime: text,
  language: text,
  created_at: text,
  expires_at: text,
  last_used_at: text,
  running: z.boolean(),
  enforced: enforcedSchema,
  warnings: z.array(text),
}).transform(({ sandboxId, ...sandbox }) => ({ id: sandboxId, ...sandbox }));

export const sandboxesAnswer = z.object({ sandboxes: z.array(sandboxAnswer) });

/** That an execution goes on. */
export const startedAnswer = fromSnakeCase({ execution_id: text });

export const writtenAnswer = z.object({ path: text, size: count });

const entry: z.ZodType<FileEntry> = fromSnakeCase({
  name: text,
  path: text,
  type: z.enum(['file', 'directory', 'symlink', 'other']),
  size: count,
  modified_at: text,
} satisfies JsonOf<FileEntry>);

export const filesAnswer = z.object({ files: z.array(entry), truncated: z.literal(true).exactOptional() });

export const unpackedAnswer: z.ZodType<Unpacked> = z.object({ files: count, folders: count, bytes: count });

export const pageAnswer: z.ZodType<OutputPage> = fromSnakeCase({
  stream,
  text,
  data_base64: base64,
  offset: count,
  next_offset: count,
  total_bytes: count,
  dropped_bytes: count,
  ended: z.boolean(),
}).transform(({ dataBase64, ...page }) => ({ ...page, bytes: dataBase64 }));

export const contextAnswer = fromSnakeCase({ context_id: text, language: z.enum(LANGUAGE_NAMES) });

export const interruptedAnswer = z.object({ interrupted: z.boolean() });

const status: z.ZodType<ProcessStatus> = z.enum([
  ...(['running', 'failed', 'exited', 'timed_out', 'killed'] as const),
  ...(['out_of_memory', 'cancelled', 'blocked', 'denied'] as const),
]);

export const processAnswer = fromSnakeCase({
  process_id: text,
  execution_id: text,
  argv: z.array(text),
  started_at: text,
  status,
});

export type ProcessAnswer = z.output<typeof processAnswer>;

export const processesAnswer = z.object({ processes: z.array(processAnswer) });

/** Events of an execution. */
export const outputEvent = fromSnakeCase({ stream, offset: count, data_base64: base64 });

export const gapEvent = fromSnakeCase({ stream, dropped_bytes: count });

const fileState: z.ZodType<FileState> = z.object({
  type: z.enum(['file', 'directory', 'symlink']),
  size: count.exactOptional(),
  sha256: text.exactOptional(),
  executable: z.boolean().exactOptional(),
  target: text.exactOptional(),
});

const fileEffect: z.ZodType<FileEffect> = fromSnakeCase({
  path: text,
  kind: z.enum(['added', 'changed', 'removed']),
  before: fileState.exactOptional(),
  after: fileState.exactOptional(),
  diff: text.exactOptional(),
  no_diff: z.enum(['binary', 'large']).exactOptional(),
} satisfies JsonOf<FileEffect>);

const hostEffect: z.ZodType<HostEffect> = z.object({
  host: text,
  port: count,
  allowed: z.boolean(),
  times: count,
});

const leftOut: z.ZodType<LeftOut> = z.object({ path: text, because: text });

const effects: z.ZodType<Effects> = fromSnakeCase({
  files: z.array(fileEffect),
  hosts: z.array(hostEffect).nullable(),
  hosts_not_told: count,
  processes: z.number().nullable(),
  not_copied: z.array(leftOut),
  not_carried: z.array(leftOut),
  not_committable: text.exactOptional(),
} satisfies JsonOf<Effects>);

/** A dry run, as a server tells of it. */
export interface DryRunAnswer {
  readonly dryRunId: string;
  readonly effectsSha256: string;
  readonly effects: Effects;
  readonly result: ExecutionResult;
}

export const dryRunAnswer: z.ZodType<DryRunAnswer> = fromSnakeCase({
  dry_run_id: text,
  effects_sha256: text,
  effects,
  result: resultSchema,
} satisfies JsonOf<DryRunAnswer>);
