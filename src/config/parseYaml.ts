import { Lexer, LineCounter, Parser, parseDocument } from 'yaml';
import { printable, quote } from './quote.ts';
import { unusableFile } from './refusals.ts';

/** Above any real file, and far below the nesting at which the parser's recursion ends the whole process. */
const MAX_DEPTH = 64;

/** Looking for duplicate keys takes the square of their number. */
const MAX_TOKENS = 50_000;

/**
 * The one document of a YAML text as plain values; an empty text is null. Aliases are refused, so a small
 * file cannot become a large value, and so is a tag that nobody knows. A key `__proto__` is a key like any other.
 */
export function parseYaml(text: string, path: string, origin: string): unknown {
  const excess = excessOf(text);
  if (excess !== undefined) throw invalidYaml(path, excess, origin);
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: true,
  });
  const problem = document.errors[0] ?? document.warnings[0];
  if (problem !== undefined) {
    const { line, col } = lines.linePos(problem.pos[0]);
    const place = `line ${line}, column ${col}`;
    throw problem.code === 'DUPLICATE_KEY'
      ? duplicateKey(path, keyAt(text, problem.pos[0]), place, origin, problem)
      : invalidYaml(path, `${place}: ${problem.message}`, origin, problem);
  }
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    throw invalidYaml(path, 'it uses an alias (*)', origin, error);
  }
}

/** Finds out without recursion, before the part of the parser that recurses sees the text. */
function excessOf(text: string): string | undefined {
  const parser = new Parser();
  let tokens = 0;
  for (const lexeme of new Lexer().lex(text)) {
    // The parser advances only while its results are taken.
    for (const _ of parser.next(lexeme));
    tokens += 1;
    if (parser.stack.length > MAX_DEPTH) return 'it is nested too deeply';
    if (tokens > MAX_TOKENS) return 'it has too many parts';
  }
  return undefined;
}

function invalidYaml(path: string, reason: string, origin: string, cause?: unknown) {
  const hint = 'Correct the file; its keys stand under security.sandbox, without aliases or tags.';
  return unusableFile(
    path,
    `This is not YAML that can be read: ${printable(reason)}.`,
    hint,
    { origin },
    cause,
  );
}

function duplicateKey(path: string, key: string, place: string, origin: string, cause: unknown) {
  const hint = `Keep one of the two lines with ${quote(key)}.`;
  return unusableFile(
    path,
    `The key ${quote(key)} stands there a second time, at ${place}.`,
    hint,
    { key, origin },
    cause,
  );
}

function keyAt(text: string, start: number): string {
  return /^[^\s:]*/.exec(text.slice(start, start + 100))?.[0] ?? '';
}
