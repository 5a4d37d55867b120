/** The executions of the server: those that wait or run, and for a while those that have ended. */
import { randomUUID } from 'node:crypto';
import { OutputLog } from '../operations/outputLog.ts';
import type { OnOutput } from '../result/output.ts';
import type { ExecutionResult } from '../result/result.ts';
import type { Admission, Place } from './admission.ts';
import { errorJson, notFound } from './errors.ts';
import type { Caller } from './keys.ts';
import type { Asking } from './parts.ts';

export type ExecutionState = 'waiting' | 'running' | 'ended' | 'failed';

/** What of a result is told about besides: to whom it costs something, and to those who count. */
export interface Summary {
  readonly outcome: string;
  readonly language: string | null;
  readonly durationSec: number;
  readonly cpuSec: number;
  /** Of the files that it brings back. */
  readonly fileBytes?: number;
}

/** What came of it; `json` is the result as it is sent. */
export interface Ended {
  readonly json: string;
  /** The same, where it is the result of a program. */
  readonly result?: ExecutionResult;
  readonly summary: Summary;
}

/** What an execution is given to run with. */
export interface Running {
  readonly executionId: string;
  readonly signal: AbortSignal;
  readonly onOutput: OnOutput;
  readonly onRich: (json: string) => void;
}

export interface Wish {
  /** To whom it belongs. */
  readonly caller: Caller;
  readonly sandboxId: string | null;
  /** Null for a command. */
  readonly language: string | null;
  /** `beside`: it takes no place among those that run at a time, since it may run as long as its sandbox lives. */
  readonly place?: 'queue' | 'beside';
  readonly run: (running: Running) => Promise<Ended>;
}

/** One execution, as whoever owns it sees it. */
export interface Execution {
  readonly id: string;
  /** The id of its caller. */
  readonly owner: string;
  readonly caller: Caller;
  readonly sandboxId: string | null;
  /** It may run as long as its sandbox lives. */
  readonly isBeside: boolean;
  readonly state: ExecutionState;
  readonly language: string | null;
  readonly askedAt: Date;
  /** Null as long as it waits for its turn. */
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly log: OutputLog;
  /** As it is sent. */
  readonly json: string | undefined;
  /** The result of a program. */
  readonly result: ExecutionResult | undefined;
  readonly error: unknown;
  /** Settles when it has ended, however; never rejects. */
  readonly settled: Promise<void>;
  cancel(): void;
}

export interface Bounds {
  /** Of one execution's output and rich results. */
  readonly logBytes: number;
  /** Of all that ended, their results too. */
  readonly totalBytes: number;
  readonly count: number;
  readonly ageMs: number;
}

/** What of an execution is kept how long. */
export const BOUNDS: Bounds = {
  logBytes: 4 * 1024 ** 2,
  totalBytes: 256 * 1024 ** 2,
  count: 1000,
  ageMs: 15 * 60_000,
};

export interface ExecutionsOptions {
  readonly admission: Admission;
  readonly bounds?: Bounds;
  readonly now?: () => number;
  /** What runs within this is asked for by the owner, and has this id. */
  readonly within: <T>(asking: Required<Omit<Asking, 'onStarted'>>, run: () => Promise<T>) => Promise<T>;
  /** Told of each that is started, where it is asked for. */
  readonly onStarted?: (execution: Execution) => void;
  /** Told whenever one begins, runs, has something to show or has ended. */
  readonly onChanged?: () => void;
  readonly onEnded?: (execution: Execution, summary: Summary | undefined) => void;
}

type Record = { -readonly [Name in keyof Execution]: Execution[Name] } & { heldBytes: number };

export class Executions {
  readonly #options: ExecutionsOptions;
  readonly #bounds: Bounds;
  readonly #now: () => number;
  readonly #all = new Map<string, Record>();

  constructor(options: ExecutionsOptions) {
    this.#options = options;
    this.#bounds = options.bounds ?? BOUNDS;
    this.#now = options.now ?? Date.now;
  }

  /** Those that wait or run. */
  get active(): readonly Execution[] {
    return [...this.#all.values()].filter(({ endedAt }) => endedAt === null);
  }

  /** Begins it as soon as there is a place. Throws `QUOTA_EXCEEDED` when there is no room to wait for one. */
  start({ caller, sandboxId, language, place = 'queue', run }: Wish): Execution {
    const owner = caller.id;
    const cancel = new AbortController();
    const seat = place === 'queue' ? this.#options.admission.enter(owner, cancel.signal) : undefined;
    const record: Record = {
      ...{
        id: randomUUID(),
        owner,
        caller,
        sandboxId,
        language,
        askedAt: new Date(this.#now()),
        isBeside: place === 'beside',
        state: 'waiting',
        startedAt: null,
        endedAt: null,
      },
      ...{
        log: new OutputLog(this.#bounds.logBytes),
        json: undefined,
        result: undefined,
        error: undefined,
        heldBytes: 0,
      },
      settled: Promise.resolve(),
      cancel: () => cancel.abort(),
    };
    this.#all.set(record.id, record);
    this.#forget();
    this.#options.onChanged?.();
    record.settled = this.#run(record, run, cancel.signal, seat);
    this.#options.onStarted?.(record);
    return record;
  }

  /** One of this owner; all others are not there. Throws what is answered with 404. */
  find(owner: string, id: string): Execution {
    const found = this.#all.get(id);
    if (found?.owner === owner) return found;
    throw notFound('execution', id);
  }

  /** Of this owner, the newest last. */
  list(owner: string): readonly Execution[] {
    return [...this.#all.values()].filter((execution) => execution.owner === owner);
  }

  /** Of all owners, the oldest first. */
  get all(): readonly Execution[] {
    return [...this.#all.values()];
  }

  cancelAll(): void {
    for (const { cancel } of this.active) cancel();
  }

  async #run(record: Record, run: Wish['run'], signal: AbortSignal, seat: Place | undefined): Promise<void> {
    let summary: Summary | undefined;
    try {
      // One that is cancelled while it waits is run with its signal: it ends at once, with a result that says so.
      await seat?.ready.catch(() => {});
      record.state = 'running';
      record.startedAt = new Date(this.#now());
      this.#options.onChanged?.();
      const running: Running = {
        ...{ executionId: record.id, signal },
        onOutput: ({ stream, bytes }) => record.log.push(stream, bytes),
        onRich: (json) => {
          record.log.pushRich(json);
          this.#options.onChanged?.();
        },
      };
      const onQuestion = (): (() => void) => {
        seat?.pause();
        return () => seat?.resume();
      };
      const asking = { caller: record.owner, executionId: record.id, onQuestion };
      const ended = await this.#options.within(asking, () => run(running));
      record.json = ended.json;
      record.result = ended.result;
      record.state = 'ended';
      summary = ended.summary;
    } catch (error) {
      record.error = error;
      record.state = 'failed';
    } finally {
      seat?.leave();
      record.endedAt = new Date(this.#now());
      record.log.end();
      record.heldBytes = record.log.heldBytes + 2 * textLength(record);
      this.#forget();
    }
    this.#options.onEnded?.(record, summary);
    this.#options.onChanged?.();
  }

  /** The oldest that ended goes first, of whoever keeps the most. */
  #forget(): void {
    const ended = [...this.#all.values()].filter(({ endedAt }) => endedAt !== null);
    const oldest = this.#now() - this.#bounds.ageMs;
    const kept = ended.filter(({ id, endedAt }) => {
      if (endedAt === null || endedAt.getTime() >= oldest) return true;
      this.#all.delete(id);
      return false;
    });
    let [count, bytes] = [kept.length, kept.reduce((total, { heldBytes }) => total + heldBytes, 0)];
    while (count > this.#bounds.count || (bytes > this.#bounds.totalBytes && count > 1)) {
      const gone = firstOfLargest(kept);
      if (gone === undefined) return;
      kept.splice(kept.indexOf(gone), 1);
      this.#all.delete(gone.id);
      count--;
      bytes -= gone.heldBytes;
    }
  }
}

/** Of what came of it; an error may tell much as well. */
function textLength({ state, json = '', error }: Record): number {
  return state === 'failed' ? JSON.stringify(errorJson(error)).length : json.length;
}

function firstOfLargest(kept: readonly Record[]): Record | undefined {
  const costs = new Map<string, number>();
  for (const { owner, heldBytes } of kept) costs.set(owner, (costs.get(owner) ?? 0) + heldBytes + 1024);
  const [largest] = [...costs].sort(([, a], [, b]) => b - a);
  return kept.find(({ owner }) => owner === largest?.[0]);
}
