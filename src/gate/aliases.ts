/** Dotted names such as `os.system`; a variable can stand for more than one over a program's life. */
export type Meanings = ReadonlySet<string>;

export const NO_MEANINGS: Meanings = new Set();

const MAX_MEANINGS = 16;
const MAX_PARTS = 8;

/** Which names stand for which things, whatever the order of execution: wrong at times, but never less than true. */
export class Aliases {
  readonly #meanings = new Map<string, Set<string>>();

  meaningsOf(name: string): Meanings | undefined {
    return this.#meanings.get(name);
  }

  /** Bounded, so that `x = x.a` in a loop of assignments ends. */
  add(name: string, meanings: Iterable<string>): void {
    const known = this.#meanings.get(name) ?? new Set<string>();
    for (const meaning of meanings) {
      if (known.size < MAX_MEANINGS && meaning.split('.').length <= MAX_PARTS) known.add(meaning);
    }
    if (known.size > 0) this.#meanings.set(name, known);
  }
}
