/** What a Python program declares itself to be written in (PEP 263): the interpreter believes it, and eyes do not. */

export interface DeclaredEncoding {
  readonly name: string;
  /** From 1. */
  readonly line: number;
}

/** Those in which every ASCII character is itself, so that what stands there as code is the code. */
const USUAL = /^(utf-?8(-sig)?|(us-)?ascii|latin-?1|iso-?8859-1)$/;

const COOKIE = /^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)/s;
const MAX_NAME = 40;

/** An encoding other than those in which a program is what is shown; undefined where none is declared. Pure. */
export function unusualEncoding(code: string): DeclaredEncoding | undefined {
  const text = code.replace(/^\ufeff/, '');
  // Where only a carriage return ends a line, interpreters differ in what they take for one.
  for (const lines of [text.split('\n', 2), text.split(/\r\n?|\n/, 2)]) {
    for (const [i, line] of lines.entries()) {
      const name = COOKIE.exec(line)?.[1];
      if (name !== undefined && !USUAL.test(name.toLowerCase().replaceAll('_', '-')))
        return { name: name.slice(0, MAX_NAME), line: i + 1 };
    }
  }
  return undefined;
}
