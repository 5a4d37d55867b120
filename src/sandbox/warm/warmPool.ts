import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Bell } from '../../bell.ts';
import { assertHeld } from '../../runtimes/enforceable.ts';
import type { Guest, Runtime, SandboxSpec, WarmedBy } from '../../runtimes/runtime.ts';
import { onAbort } from '../onAbort.ts';
import { Burials } from './burials.ts';
import { drainAtExit, needNotDrainAtExit } from './drainAtExit.ts';
import { keptAlive } from './keptAlive.ts';
import { Places } from './places.ts';
import { MADE_AT_ONCE, MOST_WAIT_MS, POOL_DEFAULTS, type WarmPoolOptions } from './poolOptions.ts';
import type { Discard, WarmEvent, WarmPoolState } from './poolState.ts';
import { PoolTimers } from './poolTimers.ts';
import type { IdleGuest, Shelf } from './shelf.ts';
import { Shelves } from './shelves.ts';
import type { WarmKind } from './warmKey.ts';

/** A guest that was handed out, for one program. */
export interface WarmGuest {
  /** What the driver calls it. */
  readonly id: string;
  readonly guest: Guest;
  /**
   * It was used, or turned out to be of no use (`failure`): `close` ends it, behind what goes on at the moment. Resolves at
   * once unless too many are on their way to their end.
   */
  over(close: () => Promise<void>, failure?: unknown): Promise<void>;
}

/**
 * Guests that were made ready with an interpreter that waits, each handed out exactly once, and only for what it was made
 * for. There is no promise of one: whoever gets none starts cold. Those that wait keep no process alive.
 */
export class WarmPool implements AsyncDisposable {
  readonly #options: Required<Omit<WarmPoolOptions, 'onEvent'>>;
  readonly #onEvent: WarmPoolOptions['onEvent'];
  readonly #places: Places;
  readonly #burials: Burials;
  readonly #shelves: Shelves;
  readonly #timers: PoolTimers;
  readonly #makings = new Set<Promise<void>>();
  readonly #made = new Bell();
  readonly #closing = new AbortController();
  #inUse = 0;
  /** What waits and what is being made, by estimate. */
  #estimatedMb = 0;
  #unused: (() => void)[] = [];
  #closed: Promise<void> | undefined;

  constructor({ onEvent, ...options }: WarmPoolOptions = {}) {
    this.#options = { ...POOL_DEFAULTS, ...options };
    this.#onEvent = onEvent;
    this.#places = new Places(this.#options.maxConcurrent);
    this.#burials = new Burials(this.#options.maxDying);
    this.#shelves = new Shelves(this.#options);
    this.#timers = new PoolTimers({
      refill: () => this.#refill(),
      sweep: () => this.#sweep(),
      idleSec: this.#options.idleSec,
    });
    // Whatever is being made listens.
    setMaxListeners(0, this.#closing.signal);
  }

  /** A place for one execution, warm or cold, until `leave`; undefined where there is one at once. See `Places`. */
  enter(signal?: AbortSignal): Promise<void> | undefined {
    return this.#places.enter(signal);
  }

  /** The execution is over: what is missing is made behind it. */
  leave(): void {
    this.#places.leave();
    this.#refillBehind();
  }

  /** One that is ready for exactly this, or undefined. Takes no longer where there are many. */
  take(runtime: Runtime, kind: WarmKind): WarmGuest | undefined {
    if (this.#closed !== undefined) return undefined;
    const shelf = this.#use(runtime, kind);
    if (shelf.stopped !== undefined) {
      this.#shelves.count(shelf, 'missed');
      return undefined;
    }
    this.#timers.refillSoon();
    const found = this.#nextOf(shelf);
    if (found === undefined) {
      this.#shelves.count(shelf, 'missed');
      shelf.grow();
      this.#tell({ type: 'missed', ...shelf.name });
      return undefined;
    }
    return this.#handOut(shelf, found);
  }

  /** Where none was ready: the next one that is made, or undefined where a cold start is there sooner. */
  async next(runtime: Runtime, kind: WarmKind, signal?: AbortSignal): Promise<WarmGuest | undefined> {
    const shelf = this.#shelves.find(runtime, kind);
    if (this.#closed !== undefined || !shelf?.isWorthWaitingFor || signal?.aborted) return undefined;
    return new Promise((resolve) => {
      const come = (found?: IdleGuest): void => {
        clearTimeout(late);
        stopListening();
        shelf.waiting.delete(come);
        resolve(found && this.#handOut(shelf, found));
      };
      const late = setTimeout(() => {
        shelf.isLate = true;
        come();
      }, MOST_WAIT_MS);
      const stopListening = onAbort(signal, come);
      shelf.waiting.add(come);
      this.#timers.refillNow();
    });
  }

  /**
   * Makes as many ready as there always are. Resolves to how they wait, or to undefined where none can: a driver that has
   * none, a failure, no memory left for it.
   */
  async fill(runtime: Runtime, kind: WarmKind): Promise<WarmedBy | undefined> {
    if (this.#closed !== undefined) return undefined;
    const shelf = this.#use(runtime, kind);
    shelf.want();
    const before = shelf.counts.failed;
    const isEnough = (): boolean => shelf.idle.size >= shelf.min || shelf.stopped !== undefined;
    while (!isEnough() && this.#closed === undefined && shelf.counts.failed === before) {
      this.#timers.refillNow();
      // No memory for more, and nothing on its way.
      if (this.#makings.size === 0) break;
      await keptAlive(this.#made.rung());
    }
    return shelf.idle.size === 0 ? undefined : shelf.warmedBy;
  }

  /** Why none of this is made ready, or what went wrong last, in a sentence. */
  whyNot(runtime: Runtime, kind: WarmKind): string | undefined {
    const shelf = this.#shelves.find(runtime, kind);
    return shelf?.stopped ?? shelf?.lastFailure;
  }

  state(): WarmPoolState {
    const kinds = [...this.#shelves].map((shelf) => shelf.state);
    const idle = kinds.reduce((sum, kind) => sum + kind.idle, 0);
    return {
      kinds,
      totals: this.#shelves.totals,
      ...{ idle, inUse: this.#inUse, dying: this.#burials.dying },
      ...{ running: this.#places.inUse, waiting: this.#places.waiting },
      estimatedMb: this.#estimatedMb,
    };
  }

  /** Ends all that wait, and resolves when they are gone. Whoever asks again fills it again. */
  async drain(): Promise<void> {
    for (const shelf of [...this.#shelves]) this.#forget(shelf, 'closed');
    this.#timers.stop();
    await keptAlive(Promise.all(this.#makings));
    await this.#rest();
  }

  /** Ends all that wait, and resolves when they and those that are in use are gone. Safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    await this.drain();
    if (this.#inUse === 0) return;
    await new Promise<void>((resolve) => this.#unused.push(resolve));
    await this.#rest();
  }

  /** Nothing is dying any more, and no driver keeps anything ready for guests to come. */
  async #rest(): Promise<void> {
    await this.#burials.settled();
    await keptAlive(Promise.all(this.#shelves.runtimes.map((runtime) => runtime.rest?.())));
  }

  #use(runtime: Runtime, kind: WarmKind): Shelf {
    const shelf = this.#shelves.use(runtime, kind, performance.now());
    if (this.#shelves.size === 1) {
      drainAtExit(this);
      this.#timers.sweepSometimes();
    }
    const { oneTooMany } = this.#shelves;
    if (oneTooMany !== undefined) this.#forget(oneTooMany, 'memory');
    return shelf;
  }

  #nextOf(shelf: Shelf): IdleGuest | undefined {
    const oldest = performance.now() - this.#options.maxAgeSec * 1000;
    for (;;) {
      const found = shelf.take();
      if (found === undefined) return undefined;
      this.#estimatedMb -= shelf.estimatedMb;
      if (found.madeAt > oldest) return found;
      this.#end(shelf, found, 'age');
    }
  }

  #handOut(shelf: Shelf, { id, guest, warmedBy }: IdleGuest): WarmGuest {
    this.#shelves.count(shelf, 'taken');
    shelf.inUse++;
    this.#inUse++;
    this.#tell({ type: 'taken', ...shelf.name, warmedBy, idle: shelf.idle.size });
    return { id, guest, over: (close, failure) => this.#over(shelf, close, failure) };
  }

  #over(shelf: Shelf, close: () => Promise<void>, failure: unknown): Promise<void> {
    shelf.inUse--;
    this.#inUse--;
    const buried = this.#bury(shelf, close);
    if (failure === undefined) shelf.succeed();
    else this.#failed(shelf, failure);
    if (this.#inUse === 0) for (const resolve of this.#unused.splice(0)) resolve();
    return buried;
  }

  #bury(shelf: Shelf, close: () => Promise<void>): Promise<void> {
    return this.#burials.bury(close, (error) => {
      this.#stop(shelf, `One could not be ended: ${messageOf(error)}`);
    });
  }

  #refillBehind(): void {
    if (this.#closed === undefined && this.#shelves.size > 0) this.#timers.refillBehind();
  }

  /** Begins to make what is missing, of what was used last first. */
  #refill(): void {
    if (this.#closed !== undefined) return;
    const now = performance.now();
    for (const shelf of [...this.#shelves].reverse()) {
      for (let missing = shelf.missing(now); missing > 0; missing--) {
        if (this.#makings.size >= MADE_AT_ONCE) return;
        if (!this.#makeRoom(shelf)) {
          if (shelf.making === 0) shelf.sendAway();
          break;
        }
        const making = this.#make(shelf).finally(() => {
          this.#makings.delete(making);
          this.#made.ring();
          if (shelf.waiting.size > 0) this.#timers.refillNow();
          else this.#timers.refillUnlessTaken();
        });
        this.#makings.add(making);
      }
    }
  }

  /** What was used longer ago gives way. */
  #makeRoom(shelf: Shelf): boolean {
    const fits = (): boolean => this.#estimatedMb + shelf.estimatedMb <= this.#options.memoryMb;
    for (const other of this.#shelves) {
      if (other === shelf) break;
      for (const guest of other.idle) {
        if (fits()) return true;
        this.#discard(other, guest, 'memory');
      }
    }
    return fits();
  }

  /** Never rejects: what goes wrong is a cold start, and an event. */
  async #make(shelf: Shelf): Promise<void> {
    const { runtime, kind, estimatedMb } = shelf;
    const { policy, languages, language, preload } = kind;
    const id = randomBytes(6).toString('hex');
    const warm = { language, preload, ...(shelf.waiting.size > 0 ? { isAwaited: true } : {}) };
    const spec: SandboxSpec = { id, policy, languages, singleUse: true, warm };
    shelf.making++;
    this.#estimatedMb += estimatedMb;
    try {
      const guest = await runtime.create(spec, this.#closing.signal);
      this.#keep(shelf, id, guest);
    } catch (error) {
      this.#estimatedMb -= estimatedMb;
      if (this.#closed === undefined) this.#failed(shelf, error);
    } finally {
      shelf.making--;
    }
  }

  #keep(shelf: Shelf, id: string, guest: Guest): void {
    const { warmedBy } = guest;
    const idle = {
      id,
      guest,
      warmedBy: warmedBy ?? 'waiting_interpreter',
      madeAt: performance.now(),
    } as const;
    if (warmedBy === undefined) {
      this.#stop(
        shelf,
        `The runtime "${shelf.name.runtime}" lets no interpreter for ${shelf.name.language} wait.`,
      );
    }
    if (shelf.stopped !== undefined || !this.#shelves.has(shelf)) {
      this.#estimatedMb -= shelf.estimatedMb;
      this.#end(shelf, idle, 'stopped');
      return;
    }
    try {
      assertHeld(shelf.runtime.name, guest.enforced, shelf.kind.policy);
    } catch (error) {
      void this.#bury(shelf, () => guest.destroy());
      throw error;
    }
    shelf.put(idle);
    this.#shelves.count(shelf, 'made');
    this.#tell({ type: 'filled', ...shelf.name, warmedBy: idle.warmedBy, idle: shelf.idle.size });
    const gone = (): void => {
      if (!shelf.idle.has(idle)) return;
      this.#discard(shelf, idle, 'lost');
      this.#failed(shelf, 'It ended while it waited.');
    };
    guest.lost?.then(gone, gone);
    const [first] = shelf.waiting;
    if (first !== undefined) first(this.#nextOf(shelf));
  }

  #failed(shelf: Shelf, error: unknown): void {
    const message = messageOf(error);
    shelf.lastFailure = message;
    shelf.sendAway();
    this.#shelves.count(shelf, 'failed');
    this.#tell({ type: 'failed', ...shelf.name, message });
    if (shelf.fail(performance.now())) this.#stop(shelf, `It failed too often in a row: ${message}`);
  }

  #stop(shelf: Shelf, because: string): void {
    if (shelf.stopped !== undefined) return;
    shelf.stopped = because;
    shelf.sendAway();
    for (const guest of shelf.idle) this.#discard(shelf, guest, 'stopped');
    this.#tell({ type: 'stopped', ...shelf.name, because });
  }

  #discard(shelf: Shelf, guest: IdleGuest, because: Discard): void {
    if (!shelf.idle.delete(guest)) return;
    this.#estimatedMb -= shelf.estimatedMb;
    this.#end(shelf, guest, because);
  }

  #end(shelf: Shelf, { guest }: IdleGuest, because: Discard): void {
    this.#tell({ type: 'discarded', ...shelf.name, because });
    void this.#bury(shelf, () => guest.destroy());
  }

  #forget(shelf: Shelf, because: Discard): void {
    this.#shelves.forget(shelf);
    shelf.sendAway();
    for (const guest of shelf.idle) this.#discard(shelf, guest, because);
    if (this.#shelves.size > 0) return;
    this.#timers.stop();
    needNotDrainAtExit(this);
  }

  /** What has waited too long or was needed by nobody is ended. What was stopped stays known. */
  #sweep(): void {
    const now = performance.now();
    const { idleSec, maxAgeSec } = this.#options;
    for (const shelf of [...this.#shelves]) {
      const isUnused = shelf.inUse === 0 && now - shelf.usedAt >= idleSec * 1000;
      if (isUnused && shelf.stopped === undefined) {
        this.#forget(shelf, 'idle');
        continue;
      }
      for (const guest of shelf.idle) {
        if (now - guest.madeAt >= maxAgeSec * 1000) this.#discard(shelf, guest, 'age');
      }
      const surplus = [...shelf.idle].slice(0, shelf.shrink());
      for (const guest of surplus) this.#discard(shelf, guest, 'surplus');
    }
    this.#refill();
  }

  #tell(event: WarmEvent): void {
    try {
      this.#onEvent?.(event);
    } catch (error) {
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
