/** What files hold that the code itself has written, as far as it says so. */
export class WrittenFiles {
  readonly #fetched = new Set<string>();
  readonly #texts = new Map<string, string>();

  addFetched(path: string): void {
    if (path !== '') this.#fetched.add(bare(path));
  }

  isFetched(path: string): boolean {
    return this.#fetched.has(bare(path));
  }

  write(path: string, text: string, isAppended = false): void {
    const before = isAppended ? (this.#texts.get(bare(path)) ?? '') : '';
    if (before.length + text.length <= MAX_CHARACTERS && this.#texts.size < MAX_FILES)
      this.#texts.set(bare(path), before + text);
  }

  textOf(path: string): string | undefined {
    return this.#texts.get(bare(path));
  }
}

const MAX_CHARACTERS = 64 * 1024;
const MAX_FILES = 256;

/** A file's path without what says nothing. */
function bare(path: string): string {
  return path.replace(/^(\.\/)+/, '');
}
