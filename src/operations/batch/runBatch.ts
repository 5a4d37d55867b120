import { availableParallelism } from 'node:os';
import { type ErrorCode, isSandboxError, SandboxError } from '../../errors.ts';
import type { ExecutionResult } from '../../result/result.ts';
import type { BatchEnd, BatchEntry, BatchOptions, BatchSummary } from './batch.ts';
import { Feed, type Source } from './feed.ts';
import { Tally } from './tally.ts';

/** After one of these, nothing that comes later can be run either. */
const ENDS_ALL: readonly ErrorCode[] = [
  'CONFIG_INVALID',
  'RUNTIME_UNKNOWN',
  'RUNTIME_UNAVAILABLE',
  'AUDIT_UNAVAILABLE',
  'SANDBOX_CLOSED',
  'UNAUTHENTICATED',
];

/** How one of them is run, and what it is called where it has a name. */
export interface BatchWork<Program> {
  readonly idOf: (program: Program) => string | undefined;
  readonly execute: (program: Program, signal: AbortSignal) => Promise<ExecutionResult>;
}

/**
 * Runs many programs, some at a time, and holds no more of them than run. Resolves once all are told; rejects, when what runs
 * has ended, with what the source or `onResult` throws, or with an error that no program is to blame for.
 */
export async function runBatch<Program>(
  programs: Source<Program>,
  { concurrency = availableParallelism(), onResult, signal }: BatchOptions<Program>,
  { idOf, execute }: BatchWork<Program>,
): Promise<BatchSummary> {
  const startedAt = performance.now();
  const feed = new Feed(programs);
  const tally = new Tally();
  const running = new Set<AbortController>();
  const failures: unknown[] = [];
  let isCancelled = false;
  let isHeard = true;
  let telling: Promise<unknown> = Promise.resolve();

  const cancel = (reason: unknown): void => {
    isCancelled = true;
    feed.stop();
    for (const controller of running) controller.abort(reason);
  };
  const onAbort = (): void => cancel(signal?.reason);

  const fail = (error: unknown): void => {
    failures.push(error);
    feed.stop();
  };

  const tell = async (entry: BatchEntry<Program>): Promise<void> => {
    if (!isHeard) return;
    try {
      await onResult?.(entry);
      tally.count(entry);
    } catch (error) {
      isHeard = false;
      failures.push(error);
      cancel(error);
    }
  };

  const runOne = async (program: Program, index: number): Promise<void> => {
    if (isCancelled) return;
    const entry = { id: idOf(program) ?? String(index), index, program };
    // One for each: what listens to a signal of the whole batch would gather there.
    const controller = new AbortController();
    running.add(controller);
    let end: BatchEnd;
    try {
      end = { result: await execute(program, controller.signal) };
    } catch (error) {
      // It was cancelled before it had begun.
      if (controller.signal.aborted) return;
      if (isSandboxError(error) && ENDS_ALL.includes(error.code)) return fail(error);
      end = { error: asSandboxError(error) };
    } finally {
      running.delete(controller);
    }
    const told = telling.then(() => tell({ ...entry, ...end }));
    telling = told;
    await told;
  };

  const runSome = async (): Promise<void> => {
    try {
      for (let taken = await feed.next(); taken !== undefined; taken = await feed.next())
        await runOne(taken.item, taken.index);
    } catch (error) {
      fail(error);
    }
  };

  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.all(Array.from({ length: concurrency }, runSome));
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
  if (failures.length > 0) throw failures[0];
  const duration = (performance.now() - startedAt) / 1000;
  return { ...tally.counts, cancelled: signal?.aborted ?? false, duration };
}

/** What is no error of ours was not foreseen; one program that brings it about does not keep the others from running. */
function asSandboxError(error: unknown): SandboxError {
  if (isSandboxError(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new SandboxError('SANDBOX_FAILED', `Unexpected: ${message}`, {
    hint: 'This is a bug of Glovebox: please report it with the program.',
    cause: error,
  });
}
