import type { Runtime } from '../../runtimes/runtime.ts';
import { MOST_KINDS } from './poolOptions.ts';
import type { WarmTotals } from './poolState.ts';
import { type Bounds, type Counts, Shelf } from './shelf.ts';
import { type WarmKind, warmKey } from './warmKey.ts';

/** The kinds that are known, the one that was used longest ago first, and what was counted of all there ever were. */
export class Shelves implements Iterable<Shelf> {
  readonly #bounds: Bounds;
  readonly #byKey = new WeakMap<Runtime, Map<string, Shelf>>();
  readonly #inOrder = new Set<Shelf>();
  readonly #runtimes = new Set<Runtime>();
  readonly #totals = new Map<string, WarmTotals & Counts>();

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#inOrder.size;
  }

  /** All that ever made anything here. */
  get runtimes(): readonly Runtime[] {
    return [...this.#runtimes];
  }

  get totals(): readonly WarmTotals[] {
    return [...this.#totals.values()].map((totals) => ({ ...totals }));
  }

  /** It may be changed meanwhile. */
  [Symbol.iterator](): Iterator<Shelf> {
    return this.#inOrder.values();
  }

  has(shelf: Shelf): boolean {
    return this.#inOrder.has(shelf);
  }

  find(runtime: Runtime, kind: WarmKind): Shelf | undefined {
    return this.#byKey.get(runtime)?.get(warmKey(kind));
  }

  /** The one of this kind, a new one where there is none, as the one that was used last. */
  use(runtime: Runtime, kind: WarmKind, now: number): Shelf {
    const key = warmKey(kind);
    const shelves = this.#byKey.get(runtime) ?? new Map<string, Shelf>();
    const shelf = shelves.get(key) ?? new Shelf(runtime, key, kind, this.#bounds);
    this.#byKey.set(runtime, shelves.set(key, shelf));
    this.#runtimes.add(runtime);
    this.#inOrder.delete(shelf);
    this.#inOrder.add(shelf);
    shelf.usedAt = now;
    return shelf;
  }

  /** The one to forget, where there are too many. */
  get oneTooMany(): Shelf | undefined {
    const [oldest] = this.#inOrder;
    return this.size > MOST_KINDS ? oldest : undefined;
  }

  forget(shelf: Shelf): void {
    this.#inOrder.delete(shelf);
    this.#byKey.get(shelf.runtime)?.delete(shelf.key);
  }

  count({ name, counts }: Shelf, what: keyof Counts): void {
    counts[what]++;
    const key = `${name.runtime} ${name.language}`;
    const totals = this.#totals.get(key) ?? { ...name, taken: 0, missed: 0, made: 0, failed: 0 };
    totals[what]++;
    this.#totals.set(key, totals);
  }
}
