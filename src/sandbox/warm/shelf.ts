import type { Guest, Runtime, WarmedBy } from '../../runtimes/runtime.ts';
import { estimatedMb } from './estimate.ts';
import { FIRST_PAUSE_MS, MOST_FAILURES } from './poolOptions.ts';
import type { WarmKindState, WarmName } from './poolState.ts';
import type { WarmKind } from './warmKey.ts';

/** A guest that waits. */
export interface IdleGuest {
  readonly id: string;
  readonly guest: Guest;
  readonly warmedBy: WarmedBy;
  readonly madeAt: number;
}

/** What is counted for ever. */
export interface Counts {
  taken: number;
  missed: number;
  made: number;
  failed: number;
}

/** How many of one kind there may be. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** The guests of one kind, the oldest first, and how many there shall be. Only counts: it makes and ends none. */
export class Shelf {
  readonly runtime: Runtime;
  readonly key: string;
  readonly kind: WarmKind;
  readonly name: WarmName;
  /** Of each. */
  readonly estimatedMb: number;
  readonly idle = new Set<IdleGuest>();
  readonly counts: Counts = { taken: 0, missed: 0, made: 0, failed: 0 };
  /** Executions that wait for the next one; who came first has it. */
  readonly waiting = new Set<(guest?: IdleGuest) => void>();
  making = 0;
  inUse = 0;
  usedAt = 0;
  /** Why no more are made, in a sentence. */
  stopped: string | undefined;
  /** What went wrong last, since one was of use. */
  lastFailure: string | undefined;
  #target = 0;
  #warmedBy: WarmedBy | undefined;
  #failures = 0;
  #retryAt = 0;
  /** How few were idle since it was looked at last. */
  #fewest = Number.POSITIVE_INFINITY;
  readonly #bounds: Bounds;

  constructor(runtime: Runtime, key: string, kind: WarmKind, { min, max }: Bounds) {
    this.runtime = runtime;
    this.key = key;
    this.kind = kind;
    this.name = { runtime: runtime.name, language: kind.language };
    this.estimatedMb = estimatedMb(runtime.name, kind.language, kind.preload);
    this.#bounds = { min: Math.max(1, min), max: Math.max(1, min, max) };
  }

  /** How many are missing. */
  missing(now: number): number {
    if (this.stopped !== undefined || now < this.#retryAt) return 0;
    const waiting = this.#isForked ? this.waiting.size : 0;
    const missing = Math.max(0, this.#target + waiting - this.idle.size - this.making);
    // Where one has failed, one more is tried, and not as many as are missing.
    return this.#failures === 0 ? missing : Math.min(missing, 1 - Math.min(1, this.making));
  }

  /**
   * Whether the next one is there sooner than a cold start: it is on its way and nobody's, or it takes a fork and nothing
   * else to make one.
   */
  get isWorthWaitingFor(): boolean {
    if (this.stopped !== undefined || this.#failures > 0) return false;
    return this.making > this.waiting.size || this.#isForked;
  }

  get #isForked(): boolean {
    return this.#warmedBy === 'fork_server';
  }

  /** Who waits is told that none comes. */
  sendAway(): void {
    for (const come of [...this.waiting]) come();
  }

  /** Somebody wants at least as many as there always are. */
  want(): void {
    this.#target = Math.max(this.#target, this.#bounds.min);
  }

  get min(): number {
    return this.#bounds.min;
  }

  get warmedBy(): WarmedBy | undefined {
    return this.#warmedBy;
  }

  /** The one that has waited longest. */
  take(): IdleGuest | undefined {
    const [oldest] = this.idle;
    if (oldest !== undefined) this.idle.delete(oldest);
    this.#fewest = Math.min(this.#fewest, this.idle.size);
    return oldest;
  }

  /** One was asked for in vain: the next time there shall be one more. */
  grow(): void {
    this.#target = this.#target === 0 ? this.#bounds.min : Math.min(this.#bounds.max, this.#target + 1);
    this.#fewest = 0;
  }

  put(guest: IdleGuest): void {
    this.idle.add(guest);
    this.#warmedBy = guest.warmedBy;
  }

  /** Half of those that nobody has needed since the last time, but never below the least: how many go. */
  shrink(): number {
    const unneeded = Number.isFinite(this.#fewest) ? Math.min(this.#fewest, this.idle.size) : this.idle.size;
    this.#fewest = Number.POSITIVE_INFINITY;
    const goes = Math.min(Math.ceil(unneeded / 2), Math.max(0, this.#target - this.#bounds.min));
    this.#target -= goes;
    return Math.max(0, Math.min(goes, this.idle.size + this.making - this.#target));
  }

  /** One could not be made or used. True when it was once too often; otherwise nothing is tried for a while. */
  fail(now: number): boolean {
    this.#failures++;
    this.#retryAt = now + FIRST_PAUSE_MS * 2 ** (this.#failures - 1);
    return this.#failures >= MOST_FAILURES;
  }

  /** One was of use. */
  succeed(): void {
    this.#failures = 0;
    this.lastFailure = undefined;
    this.#retryAt = 0;
  }

  get state(): WarmKindState {
    return {
      ...this.name,
      preload: this.kind.preload,
      ...(this.#warmedBy === undefined ? {} : { warmedBy: this.#warmedBy }),
      ...{ target: this.#target, idle: this.idle.size, inUse: this.inUse },
      ...this.counts,
      ...(this.stopped === undefined ? {} : { stopped: this.stopped }),
    };
  }
}
