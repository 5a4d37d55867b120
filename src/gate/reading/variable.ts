import type { Block, Scope } from './shapes.ts';
import { anyOf, type Value } from './values.ts';

const MAX_VALUES = 24;

interface Given {
  readonly value: Value;
  /** Absent where it is not known when. */
  readonly block: Block | undefined;
}

/** What a name stands for: by the places that give it something, the most recent one last. */
export class Variable {
  readonly #given = new Map<object, Given>();
  #latest: Given | undefined;
  #merged: Value | undefined;

  /** All that it may be. */
  get value(): Value | undefined {
    if (this.#latest === undefined) return undefined;
    const others = [...this.#given.values()].filter((given) => given !== this.#latest);
    this.#merged ??= anyOf([...others, this.#latest].map(({ value }) => value));
    return this.#merged;
  }

  /** What it is in a block, where all that it was before is surely gone; otherwise all that it may be. */
  valueIn(block: Block | undefined): Value | undefined {
    return block !== undefined && this.#isSure(block) ? this.#latest?.value : this.value;
  }

  set(place: object, value: Value, block?: Block): void {
    if (!this.#given.has(place) && this.#given.size >= MAX_VALUES) {
      const [oldest] = this.#given.keys();
      if (oldest !== undefined) this.#given.delete(oldest);
    }
    this.#latest = { value, block };
    this.#merged = undefined;
    this.#given.set(place, this.#latest);
  }

  /** What it held when the program came here. */
  before(place: object): Value | undefined {
    if (this.#latest !== undefined && this.#latest !== this.#given.get(place)) return this.#latest.value;
    let before: Value | undefined;
    for (const [other, { value }] of this.#given) {
      if (other === place) return before;
      before = value;
    }
    return before;
  }

  /** The latest block goes on here, and no round of a loop in between changes it again. */
  #isSure(block: Block): boolean {
    const latest = this.#latest?.block;
    if (latest === undefined || !isWithin(block, latest)) return false;
    let loop: Block | undefined;
    for (let at: Block | null = block; at !== null && at !== latest; at = at.parent) if (at.isLoop) loop = at;
    const outermost = loop;
    if (outermost === undefined) return true;
    return [...this.#given.values()].every(
      (given) => given.block !== undefined && !isWithin(given.block, outermost),
    );
  }
}

function isWithin(inner: Block, outer: Block): boolean {
  let at: Block | null = inner;
  while (at !== null && at !== outer) at = at.parent;
  return at === outer;
}

/** Where a name belongs, seen from a scope: where it is declared, or to all. */
export function variableOf(name: string, scope: Scope): Variable {
  let at: Scope = scope;
  while (at.parent !== null && !at.declared.has(name)) at = at.parent;
  at.declared.add(name);
  const known = at.values.get(name);
  if (known !== undefined) return known;
  const variable = new Variable();
  at.values.set(name, variable);
  return variable;
}
