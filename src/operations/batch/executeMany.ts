import { SandboxError } from '../../errors.ts';
import type { ExecutionResult } from '../../result/result.ts';
import { createContext } from '../context.ts';
import { executeOnce } from '../execute.ts';
import type { OneShotSandbox } from '../getSandbox.ts';
import type { BatchOptions, BatchProgram, BatchSummary } from './batch.ts';
import type { Source } from './feed.ts';
import { runBatch } from './runBatch.ts';
import { concurrencyFor, whileWarm } from './whileWarm.ts';

export interface ExecuteManyOptions<Program = BatchProgram> extends BatchOptions<Program> {
  /**
   * What runs each of them, such as `getSandbox({ runtime: 'gvisor', warm: true })` or `connect(url)`; whoever made it closes it.
   * By default, the sandbox that the settings choose, kept ready meanwhile unless `SANDBOX_WARM=off`.
   */
  readonly sandbox?: Pick<OneShotSandbox, 'execute'>;
}

/**
 * Runs each of many programs in a sandbox of its own, some at a time, and tells `onResult` of each as it ends. They are
 * read as they are needed, so that there may be any number of them. A program that cannot be run is an entry with its
 * error. Rejects, once what runs has ended, with what the iterable or `onResult` throws, and with an error after which
 * nothing else can run either, such as `RUNTIME_UNAVAILABLE` or `AUDIT_UNAVAILABLE`.
 */
export async function executeMany<Program extends BatchProgram>(
  programs: Source<Program>,
  options: ExecuteManyOptions<Program> = {},
): Promise<BatchSummary> {
  const { checkOptions } = await import('../checkOptions.ts');
  checkOptions('many', options);
  assertIterable(programs);
  const { sandbox, ...batch } = options;
  if (sandbox !== undefined) return runThrough(sandbox, programs, batch);
  return whileWarm(await createContext({}), (context) => {
    const execute: OneShotSandbox['execute'] = async (code, given = {}) => {
      checkOptions('execute', given);
      return executeOnce(context, { code }, given);
    };
    const concurrency = concurrencyFor(context, batch.concurrency);
    return runThrough({ execute }, programs, { ...batch, concurrency });
  });
}

function runThrough<Program extends BatchProgram>(
  sandbox: Pick<OneShotSandbox, 'execute'>,
  programs: Source<Program>,
  options: BatchOptions<Program>,
): Promise<BatchSummary> {
  return runBatch(programs, options, {
    idOf: (program) => (typeof program?.id === 'string' ? program.id : undefined),
    execute: (program, signal) => executeProgram(sandbox, program, signal),
  });
}

async function executeProgram(
  sandbox: Pick<OneShotSandbox, 'execute'>,
  program: BatchProgram,
  signal: AbortSignal,
): Promise<ExecutionResult> {
  assertProgram(program);
  const { id: _id, code, signal: own, ...options } = program;
  const both = own === undefined ? signal : AbortSignal.any([own, signal]);
  return sandbox.execute(code, { ...options, signal: both });
}

function assertProgram(program: unknown): asserts program is BatchProgram {
  if (typeof program === 'object' && program !== null && 'code' in program) {
    const { id } = program as { id?: unknown };
    if (id === undefined || typeof id === 'string') return;
  }
  throw new SandboxError('INPUT_INVALID', 'A program is an object with its code, and an id that is text.', {
    hint: "For example: { id: 'first', code: 'print(1)', language: 'python' }.",
  });
}

function assertIterable(programs: unknown): void {
  const isIterable =
    typeof programs === 'object' &&
    programs !== null &&
    (Symbol.iterator in programs || Symbol.asyncIterator in programs);
  if (isIterable) return;
  throw new SandboxError('INPUT_INVALID', 'The programs must be an iterable of objects.', {
    hint: "For example: executeMany([{ code: 'print(1)' }], { onResult }).",
  });
}
