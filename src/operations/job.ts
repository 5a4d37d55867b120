/** What is to run, with all that was left open filled in. */
import { SandboxError } from '../errors.ts';
import type { Language } from '../languages/language.ts';
import type { ProgramLimits } from '../runtimes/runtime.ts';
import { newExecutionId, type Program } from '../sandbox/program.ts';
import type { Context } from './context.ts';
import { allowedLanguage } from './languages.ts';
import { checkCode, type RunOptions } from './options.ts';
import type { Lifetime } from './policy.ts';
import { onlyTightens } from './surface.ts';
import { cutWarning } from './tightened.ts';

/** What to run: code, or a command as it is. */
export type Job =
  | { readonly code: string | Uint8Array }
  | { readonly command: readonly [string, ...string[]] };

export interface Prepared {
  readonly executionId: string;
  readonly startedAt: Date;
  readonly language: Language | undefined;
  readonly program: Program;
  readonly code: string;
  readonly maxOutputKb: number;
  /** What of the wishes was not taken as it was, in whole sentences. */
  readonly warnings: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** It runs in a copy of the workspace. */
  readonly isDry?: boolean;
}

interface PrepareOptions {
  readonly timeoutSec: number | undefined;
  readonly limits?: ProgramLimits | undefined;
  readonly lifetime: Lifetime;
}

export function prepare(
  context: Context,
  job: Job,
  options: RunOptions,
  { timeoutSec, limits, lifetime }: PrepareOptions,
): Prepared {
  const { maxOutputKb, warnings } = outputLimit(context, options, lifetime);
  const isCode = 'code' in job;
  if (isCode) checkCode(job.code);
  const language = isCode ? allowedLanguage(context, options.language ?? 'python') : undefined;
  // What is shown to a person and recorded is what runs, whatever the caller does with its own bytes meanwhile.
  const own = (data: string | Uint8Array): Uint8Array =>
    typeof data === 'string' || context.oversight === undefined ? toBytes(data) : Buffer.from(data);
  const files = Object.entries(options.files ?? {}).map(([path, data]) => [path, own(data)] as const);
  if (
    language !== undefined &&
    files.some(([path]) => path.replace(/^(\.?\/)*(workspace\/)?/, '') === language.fileName)
  ) {
    throw new SandboxError(
      'INPUT_INVALID',
      `The file name ${language.fileName} is taken by the code itself.`,
      {
        hint: 'Give the file another name.',
      },
    );
  }
  const env = { ...options.env };
  return {
    executionId: context.executionId?.() ?? newExecutionId(),
    startedAt: new Date(),
    language,
    code: isCode ? toText(job.code) : job.command.join(' '),
    maxOutputKb,
    warnings,
    env,
    program: {
      run:
        isCode && language !== undefined
          ? { code: own(job.code), language }
          : { command: [...(job as { command: readonly [string, ...string[]] }).command] },
      args: [...(options.args ?? [])],
      env,
      ...(options.stdin === undefined
        ? {}
        : { stdin: isContent(options.stdin) ? own(options.stdin) : options.stdin }),
      files: Object.fromEntries(files),
      collect: [...(options.collect ?? [])],
      ...(timeoutSec === undefined ? {} : { timeoutSec }),
      ...(limits === undefined ? {} : { limits }),
      maxOutputBytes: Math.max(1, Math.round(maxOutputKb * 1024)),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(options.onOutput === undefined ? {} : { onOutput: options.onOutput }),
    },
  };
}

/** How much of each stream a sandbox that lives on keeps where nobody asked. */
const LASTING_OUTPUT_KB = 1024;

/** How much of each stream is kept; a caller that may only tighten gets no more than it would without asking. */
export function outputLimit(
  { loaded: { settings, origins }, surface }: Pick<Context, 'loaded' | 'surface'>,
  options: RunOptions,
  lifetime: Lifetime,
): { readonly maxOutputKb: number; readonly warnings: readonly string[] } {
  const isDefault = origins.maxOutputKb.kind === 'default';
  const standard = lifetime === 'lasting' && isDefault ? LASTING_OUTPUT_KB : settings.maxOutputKb;
  const asked = outputKb(options) ?? standard;
  if (asked <= standard || !onlyTightens(surface)) return { maxOutputKb: asked, warnings: [] };
  return { maxOutputKb: standard, warnings: [cutWarning('output limit', asked, standard, 'KB')] };
}

/** What the options say in either unit. Throws `INPUT_INVALID` when they say it in both. */
export function outputKb({ maxOutputKb, maxOutputBytes }: RunOptions): number | undefined {
  if (maxOutputKb !== undefined && maxOutputBytes !== undefined) {
    throw new SandboxError('INPUT_INVALID', 'The options maxOutputKb and maxOutputBytes say the same.', {
      hint: 'Give one of them.',
    });
  }
  return maxOutputBytes === undefined ? maxOutputKb : maxOutputBytes / 1024;
}

function isContent(stdin: NonNullable<RunOptions['stdin']>): stdin is string | Uint8Array {
  return typeof stdin === 'string' || stdin instanceof Uint8Array;
}

function toBytes(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? Buffer.from(data) : data;
}

function toText(data: string | Uint8Array): string {
  return typeof data === 'string' ? data : Buffer.from(data).toString('utf8');
}
