/** Holds a runtime to its clauses: each is kept, or refused when it is asked for; anything else is broken. */
import { isSandboxError, SandboxError } from '../errors.ts';
import type { Probe, Runtime } from '../runtimes/runtime.ts';
import type { Clause, ClauseReport } from './clause.ts';
import { CLAUSES } from './clauses/index.ts';
import { type Subject, Workbench } from './context.ts';
import { BrokenPromise, must, shown } from './expectations.ts';
import type { PolicyWish } from './wish.ts';

export interface VerifyOptions {
  /** Only these clauses, by id. */
  readonly only?: readonly string[];
  /** Called as each clause is decided. */
  readonly onReport?: (report: ClauseReport) => void;
  readonly signal?: AbortSignal;
  /** Seconds that one clause may take before it counts as broken; 60 by default. */
  readonly clauseTimeoutSec?: number;
}

const CLAUSE_TIMEOUT_SEC = 60;

/** How long closing what a clause has opened may take; a busy engine needs seconds for each container. */
const CLOSE_TIMEOUT_SEC = 30;

/**
 * Holds a runtime to every clause of the contract, on this machine. Throws `RUNTIME_UNAVAILABLE` where it does
 * not work, and `LANGUAGE_UNAVAILABLE` where it has no Python: the suite's programs are written in that.
 */
export async function verifyContract(
  runtime: Runtime,
  options: VerifyOptions = {},
): Promise<readonly ClauseReport[]> {
  const clauses = selectClauses(options.only);
  const subject = await getToKnow(runtime, options);
  const reports: ClauseReport[] = [];
  for (const clause of clauses) {
    options.signal?.throwIfAborted();
    const report = await judge(subject, clause, options);
    reports.push(report);
    options.onReport?.(report);
  }
  return reports;
}

/** Probes the runtime, and looks whether the host sees its programs. */
export async function getToKnow(runtime: Runtime, options: VerifyOptions = {}): Promise<Subject> {
  const probe = await withDeadline((signal) => runtime.probe(signal), options);
  if (!probe.available) throw unavailable(runtime, probe);
  const subject = { runtime, capabilities: probe.capabilities, hostVisible: false };
  let hostVisible = false;
  try {
    await atWorkbench(subject, {}, options, async (bench) => {
      const box = await bench.open();
      hostVisible = (await box.watch(() => true)) ?? false;
    });
  } catch (error) {
    options.signal?.throwIfAborted();
    if (isSandboxError(error) && error.code === 'LANGUAGE_UNAVAILABLE') throw pythonNeeded(runtime, error);
    // Whatever else is wrong with this runtime, its clauses say it better.
  }
  return { ...subject, hostVisible };
}

/** Decides one clause; resolves to `broken` for everything that goes wrong. */
export async function judge(
  subject: Subject,
  clause: Clause,
  options: VerifyOptions = {},
): Promise<ClauseReport> {
  const { id, promise } = clause;
  const claimed = clause.claimedBy?.(subject.capabilities) ?? true;
  try {
    await atWorkbench(subject, clause.asks ?? {}, options, (bench) =>
      claimed ? clause.check(bench) : mustBeRefused(bench),
    );
    return { id, promise, verdict: claimed ? 'kept' : 'refused' };
  } catch (error) {
    options.signal?.throwIfAborted();
    if (isRefusedLanguage(clause, error)) return { id, promise, verdict: 'refused' };
    return { id, promise, verdict: 'broken', because: reasonOf(error) };
  }
}

function selectClauses(only: readonly string[] | undefined): readonly Clause[] {
  if (only === undefined) return CLAUSES;
  const unknown = only.filter((id) => !CLAUSES.some((clause) => clause.id === id));
  if (unknown.length > 0) {
    throw new SandboxError('INPUT_INVALID', `There is no clause called ${unknown.map(shown).join(' or ')}.`, {
      hint: `Use some of: ${CLAUSES.map(({ id }) => id).join(', ')}.`,
      details: { unknown },
    });
  }
  return CLAUSES.filter(({ id }) => only.includes(id));
}

async function mustBeRefused(bench: Workbench): Promise<void> {
  try {
    await bench.open();
  } catch (error) {
    must(
      isSandboxError(error) && error.code === 'POLICY_NOT_ENFORCEABLE',
      `it is not claimed, and asking for it failed with ${reasonOf(error)} instead of POLICY_NOT_ENFORCEABLE`,
    );
    must(error.hint.length > 0, 'it is not claimed, and was refused without a hint');
    return;
  }
  throw new BrokenPromise('it is not claimed, and whoever asks for it gets a sandbox all the same');
}

/** An image may lack a language; it must say so then, and how to get it. */
function isRefusedLanguage({ language }: Clause, error: unknown): boolean {
  return (
    language !== undefined &&
    isSandboxError(error) &&
    error.code === 'LANGUAGE_UNAVAILABLE' &&
    error.hint.length > 0
  );
}

function reasonOf(error: unknown): string {
  if (error instanceof BrokenPromise) return error.message;
  if (isSandboxError(error)) return `${error.code}: ${error.message}`;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** Does the work with a workbench and clears it away, whatever came of the work. */
async function atWorkbench(
  subject: Subject,
  wish: PolicyWish,
  options: VerifyOptions,
  work: (bench: Workbench) => Promise<void>,
): Promise<void> {
  let bench: Workbench | undefined;
  const closeTimeoutSec = Math.min(CLOSE_TIMEOUT_SEC, options.clauseTimeoutSec ?? CLAUSE_TIMEOUT_SEC);
  const clear = async (): Promise<void> =>
    race(
      bench?.close() ?? Promise.resolve(),
      closeTimeoutSec,
      `closing did not end within ${closeTimeoutSec} s`,
    );
  try {
    await withDeadline((signal) => {
      bench = new Workbench(subject, wish, signal);
      return work(bench);
    }, options);
  } catch (error) {
    // Why the work failed says more than why clearing away did.
    await clear().catch(() => {});
    throw error;
  }
  await clear();
}

/** Runs the work under a deadline of its own: whoever hangs is left behind. */
async function withDeadline<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { signal, clauseTimeoutSec = CLAUSE_TIMEOUT_SEC }: VerifyOptions,
): Promise<T> {
  const deadline = new AbortController();
  const both = signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal;
  return race(work(both), clauseTimeoutSec, `nothing was decided within ${clauseTimeoutSec} s`, signal, () =>
    deadline.abort(),
  );
}

/** Settles as the work does, or fails with `because` when the time is over or the signal says so. */
async function race<T>(
  work: Promise<T>,
  timeoutSec: number,
  because: string,
  signal?: AbortSignal,
  onTimeout: () => void = () => {},
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => {};
  try {
    return await Promise.race([
      work,
      new Promise<never>((_, reject) => {
        onAbort = () => reject(signal?.reason);
        if (signal?.aborted) onAbort();
        signal?.addEventListener('abort', onAbort, { once: true });
        timer = setTimeout(() => {
          reject(new BrokenPromise(because));
          onTimeout();
        }, timeoutSec * 1000);
      }),
    ]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    // Left behind, it may still fail; by then nobody waits for it.
    work.catch(() => {});
  }
}

function unavailable(runtime: Runtime, probe: Probe & { available: false }): SandboxError {
  return new SandboxError(
    'RUNTIME_UNAVAILABLE',
    `The runtime "${runtime.name}" does not work here: ${probe.reason}`,
    { hint: probe.fix, details: { runtime: runtime.name } },
  );
}

function pythonNeeded(runtime: Runtime, cause: SandboxError): SandboxError {
  return new SandboxError(
    'LANGUAGE_UNAVAILABLE',
    `The contract's programs are written in Python, and "${runtime.name}" has none: ${cause.message}`,
    { hint: cause.hint, details: { runtime: runtime.name }, cause },
  );
}
