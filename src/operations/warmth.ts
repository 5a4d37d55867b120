/** Executions in guests that were made ready beforehand. */
import type { Settings } from '../config/index.ts';
import { isSandboxError } from '../errors.ts';
import type { Language } from '../languages/language.ts';
import type { Choice } from '../runtimes/choose.ts';
import type { WarmedBy } from '../runtimes/runtime.ts';
import { Sandbox, type SandboxUse } from '../sandbox/sandbox.ts';
import { whyCold } from '../sandbox/warm/eligible.ts';
import type { WarmEvent, WarmPoolState } from '../sandbox/warm/poolState.ts';
import type { WarmKind } from '../sandbox/warm/warmKey.ts';
import { WarmPool } from '../sandbox/warm/warmPool.ts';
import type { Prepared } from './job.ts';

export type { WarmEvent, WarmKindState, WarmPoolState, WarmTotals } from '../sandbox/warm/poolState.ts';

/** How sandboxes are kept ready, where it differs from the settings (`warm` in docs/settings.md). */
export interface WarmOptions {
  /** How many of one kind are kept ready while it is used. */
  readonly min?: number;
  /** How many of one kind at most. */
  readonly max?: number;
  /** What all that wait may use together, in MB, by an estimate for each. */
  readonly memoryMb?: number;
  /** After how many seconds without use no sandbox of a kind is kept ready any more. */
  readonly idleSec?: number;
  /** Python modules that are imported while an interpreter waits. */
  readonly preload?: readonly string[];
  /** How many executions may run at a time, warm or cold; as many again wait, others throw `POOL_EXHAUSTED`. */
  readonly maxConcurrent?: number;
  /** Told what happens to sandboxes that are kept ready. */
  readonly onEvent?: (event: WarmEvent) => void;
}

/** One execution in a sandbox of its own. */
export interface SingleUse {
  readonly choice: Choice;
  readonly languages: readonly Language[];
  readonly prepared: Pick<Prepared, 'program' | 'language'>;
  readonly use: SandboxUse;
  readonly signal?: AbortSignal | undefined;
}

/** How sandboxes wait now, or why none does, in a sentence. */
export type WarmedUp =
  | { readonly warmedBy: WarmedBy; readonly because?: never }
  | { readonly warmedBy?: never; readonly because: string };

/** The pool of one owner, and how executions use it. */
export class Warmth {
  readonly #pool: WarmPool;
  readonly #preload: readonly string[];

  private constructor(pool: WarmPool, preload: readonly string[]) {
    this.#pool = pool;
    this.#preload = preload;
  }

  static open(settings: Settings, options: WarmOptions = {}): Warmth {
    const { preload = settings.warmPreload, ...rest } = options;
    const maxConcurrent = rest.maxConcurrent ?? settings.warmMaxConcurrent;
    const pool = new WarmPool({
      ...{ min: settings.warmMin, max: settings.warmMax, memoryMb: settings.warmMemoryMb },
      idleSec: settings.warmIdleSec,
      ...rest,
      ...(maxConcurrent === undefined ? {} : { maxConcurrent }),
    });
    return new Warmth(pool, preload);
  }

  /** The same pool where other modules are loaded. */
  with(preload: readonly string[]): Warmth {
    return new Warmth(this.#pool, preload);
  }

  /**
   * Runs it where an interpreter waits for it, or `cold`. Throws `POOL_EXHAUSTED` where there is a limit and no room to
   * wait.
   */
  async run<T>(
    single: SingleUse,
    action: (sandbox: Sandbox) => Promise<T>,
    cold: () => Promise<T>,
  ): Promise<T> {
    const waiting = this.#pool.enter(single.signal);
    if (waiting !== undefined) await waiting;
    try {
      return await this.#run(single, action, cold);
    } finally {
      this.#pool.leave();
    }
  }

  /** Makes sandboxes ready for executions like this one. */
  async warmUp({ choice, languages, prepared }: Omit<SingleUse, 'use' | 'signal'>): Promise<WarmedUp> {
    const kind = this.#kindOf(choice, languages, prepared);
    if (typeof kind === 'string') return { because: `Such an execution starts cold: ${kind}.` };
    const warmedBy = await this.#pool.fill(choice.runtime, kind);
    if (warmedBy !== undefined) return { warmedBy };
    return { because: this.#pool.whyNot(choice.runtime, kind) ?? 'None could be made ready.' };
  }

  state(): WarmPoolState {
    return this.#pool.state();
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #run<T>(
    { choice, languages, prepared, use, signal }: SingleUse,
    action: (sandbox: Sandbox) => Promise<T>,
    cold: () => Promise<T>,
  ): Promise<T> {
    const kind = this.#kindOf(choice, languages, prepared);
    if (typeof kind === 'string') return cold();
    const { runtime } = choice;
    const warm = this.#pool.take(runtime, kind) ?? (await this.#pool.next(runtime, kind, signal));
    if (warm === undefined) return cold();
    let sandbox: Sandbox | undefined;
    let failure: unknown;
    try {
      sandbox = Sandbox.around(choice, choice.policy, warm, use);
      return await action(sandbox);
    } catch (error) {
      if (sandbox?.hasStarted || !isSandboxError(error) || error.code !== 'SANDBOX_FAILED') throw error;
      failure = error;
    } finally {
      await warm.over(() => sandbox?.close() ?? warm.guest.destroy(), failure);
    }
    // Its interpreter was gone, and nothing was run.
    return cold();
  }

  /** What it may use, or why it has to start cold. */
  #kindOf(
    { policy }: Choice,
    languages: readonly Language[],
    { program, language }: SingleUse['prepared'],
  ): WarmKind | string {
    const preload = language?.name === 'python' ? this.#preload : [];
    const reason = whyCold({ program, network: policy.network, preload });
    if (reason !== undefined || language === undefined) return reason ?? 'it is a command';
    return { policy, languages: languages.map(({ name }) => name), language: language.name, preload };
  }
}
