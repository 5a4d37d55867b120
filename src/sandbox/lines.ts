import type { StreamName } from './outputPage.ts';

export interface OutputLine {
  readonly stream: StreamName;
  /** Without its line end; of a longer line only the beginning. */
  readonly text: string;
}

/** Of a longer line the rest is left out: a program may never end one. */
export const MAX_LINE_CHARACTERS = 8192;

/** Cuts the text of one stream into lines, as it comes. */
export class LineCutter {
  #line = '';

  /** The lines that end with this text. */
  push(text: string): string[] {
    const [first = '', ...rest] = text.split('\n');
    this.#extend(first);
    return rest.map((begun) => {
      const line = this.#take();
      this.#extend(begun);
      return line;
    });
  }

  /** What was not ended by a line end; undefined where there is nothing. */
  finish(): string | undefined {
    return this.#line === '' ? undefined : this.#take();
  }

  #extend(text: string): void {
    if (this.#line.length < MAX_LINE_CHARACTERS) {
      this.#line += text.slice(0, MAX_LINE_CHARACTERS - this.#line.length);
    }
  }

  #take(): string {
    const line = this.#line.endsWith('\r') ? this.#line.slice(0, -1) : this.#line;
    this.#line = '';
    return line;
  }
}

/** Whether a line is the one that is waited for: it holds the text, or the pattern matches it. Pure. */
export function lineMatcher(pattern: string | RegExp): (line: string) => boolean {
  if (typeof pattern === 'string') return (line) => line.includes(pattern);
  // A pattern with these flags would remember where it was in another line.
  const once = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''));
  return (line) => once.test(line);
}
