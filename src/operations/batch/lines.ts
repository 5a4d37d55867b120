import { SandboxError } from '../../errors.ts';

export interface Line {
  /** From 1 on. */
  readonly number: number;
  /** Without its line end. */
  readonly bytes: Uint8Array;
  /** How many bytes there are up to its end, with it. */
  readonly end: number;
  /** Whether a line end was there: what was torn off has none. */
  readonly isWhole: boolean;
}

const LINE_FEED = 0x0a;

/** Of one line; it has to fit into memory as often as programs run. */
const MAX_LINE_MB = 64;

/**
 * The lines of what comes, as it comes: only a line feed ends one, since JSON may hold every other line separator. Throws
 * `INPUT_INVALID`, with `name` and the number of the line, for one that is too long.
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Line> {
  let parts: Uint8Array[] = [];
  let held = 0;
  let number = 1;
  let end = 0;
  const take = (bytes: Uint8Array): void => {
    parts.push(bytes);
    held += bytes.length;
    end += bytes.length;
    if (held > MAX_LINE_MB * 1024 * 1024)
      throw unusable(
        name,
        number,
        `has more than ${MAX_LINE_MB} MB`,
        'Put large programs and files elsewhere: path.',
      );
  };
  const line = (isWhole: boolean): Line => {
    const bytes = Buffer.concat(parts);
    parts = [];
    held = 0;
    return { number: number++, bytes, end, isWhole };
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      take(chunk.subarray(from, at));
      end++;
      from = at + 1;
      yield line(true);
    }
    if (from < chunk.length) take(chunk.subarray(from));
  }
  if (held > 0) yield line(false);
}

/** Says of a line of a file what is wrong with it. */
export function unusable(name: string, line: number, what: string, hint: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `${name}, line ${line} ${what}.`, { hint, details: { line } });
}

/** The text of a line. Throws `INPUT_INVALID`, with `name` and the number of the line, where it is no UTF-8. */
export function textOf({ bytes, number }: Line, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: number > 1 }).decode(bytes);
  } catch (error) {
    // The decoder's only way to say that these bytes are not text.
    if (!(error instanceof TypeError)) throw error;
    throw unusable(name, number, 'is not UTF-8', 'Give code that is no text as code_base64.');
  }
}
