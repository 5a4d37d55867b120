import type { Tree } from '@lezer/common';
import { delimitersOf } from './strings.ts';

/**
 * Whether the code breaks a rule that every version of Python keeps, past and to come as far as one can tell:
 * brackets pair up, strings end, operators have operands, two operands do not stand side by side, headers have
 * a colon and an indented block. Asks the tokens only, so that a gap in the grammar does not look like an error.
 */
export function surelyBroken(source: string, tree: Tree): boolean {
  if (source.includes('\0')) return true;
  const tokens = tokensOf(source, tree);
  if (tokens === null) return true;
  const lines = logicalLines(tokens, source);
  return lines === null || lines.some((line) => isBrokenLine(line)) || hasBrokenBlocks(lines);
}

interface Token {
  readonly kind: Kind;
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

type Kind = 'name' | 'operand' | 'open' | 'close' | 'operator' | 'keyword' | 'other';

/** Null where a string does not end. Strings count as one token, whatever is in them. */
function tokensOf(source: string, tree: Tree): Token[] | null {
  const tokens: Token[] = [];
  let end = 0;
  let unterminated = false;
  const add = (kind: Kind, from: number, to: number) => {
    // Tokens that the grammar has no name for, such as `->`, have no node.
    for (const part of unnamed(source, end, from)) tokens.push(part);
    tokens.push({ kind, text: source.slice(from, Math.min(to, from + 64)), from, to });
    end = to;
  };
  let entered = -1;
  let position = 0;
  tree.iterate({
    enter({ type, from, to }) {
      entered = ++position;
      if (type.name !== 'String' && type.name !== 'FormatString') return true;
      unterminated ||= !isTerminated(source.slice(from, to));
      add('operand', from, to);
      return false;
    },
    leave({ type, from, to }) {
      const isLeaf = entered === position;
      position++;
      if (!isLeaf || type.isTop || source.slice(from, to).trim() === '') return;
      if (type.name === 'Comment') {
        for (const part of unnamed(source, end, from)) tokens.push(part);
        end = to;
      } else add(kindOf(type.name, source.slice(from, Math.min(to, from + 64))), from, to);
    },
  });
  for (const part of unnamed(source, end, source.length)) tokens.push(part);
  return unterminated ? null : tokens;
}

const SPACE: ReadonlySet<string> = new Set([' ', '\t', '\f', '\n', '\\']);

function unnamed(source: string, from: number, to: number): Token[] {
  const parts: Token[] = [];
  for (let at = from; at < to; at++) {
    const text = source[at] ?? '';
    if (!SPACE.has(text)) parts.push({ kind: 'other', text, from: at, to: at + 1 });
  }
  return parts;
}

const OPERANDS: ReadonlySet<string> = new Set([...['Number', 'None', 'Boolean', 'PropertyName']]);
const OPERATORS: ReadonlySet<string> = new Set([
  ...['AssignOp', 'UpdateOp', 'CompareOp', 'ArithOp', 'BitOp', 'LogicOp', 'and', 'or', 'in', 'is'],
]);
const KEYWORDS: ReadonlySet<string> = new Set([
  ...['as', 'assert', 'async', 'await', 'break', 'class', 'continue', 'def', 'del', 'elif', 'else', 'except'],
  ...['finally', 'for', 'from', 'global', 'if', 'import', 'lambda', 'nonlocal', 'not', 'pass', 'raise'],
  ...['return', 'try', 'while', 'with', 'yield', 'and', 'or', 'in', 'is', 'None', 'True', 'False'],
]);

/** What may stand before or after an operand as much as between two. */
const AMBIGUOUS: ReadonlySet<string> = new Set(['*', '**', '/', '|']);

function kindOf(type: string, text: string): Kind {
  if ('([{'.includes(text)) return 'open';
  if (')]}'.includes(text)) return 'close';
  if (OPERATORS.has(type)) return AMBIGUOUS.has(text) ? 'other' : 'operator';
  // The grammar reads `1.if` as a member called `if`.
  if (KEYWORDS.has(text) && type === 'PropertyName') return 'other';
  if (KEYWORDS.has(text) && !OPERANDS.has(type)) return 'keyword';
  // `print` has a type of its own, for the statement of Python 2.
  if (type === 'VariableName' || type === 'print' || SOFT_KEYWORDS.has(text)) return 'name';
  return OPERANDS.has(type) ? 'operand' : 'other';
}

function isTerminated(literal: string): boolean {
  const { prefix, quote } = delimitersOf(literal);
  // After an error the grammar may see a string begin in the middle of one, which says nothing.
  if (prefix.length > MAX_PREFIX) return true;
  if (!literal.endsWith(quote) || literal.length < prefix.length + 2 * quote.length) return false;
  let backslashes = 0;
  while (literal[literal.length - quote.length - 1 - backslashes] === '\\') backslashes++;
  return backslashes % 2 === 0;
}

const MAX_PREFIX = 2;

interface Line {
  readonly tokens: readonly Token[];
  /** Columns before the first token; null where a continued line makes that unclear. */
  readonly indent: number | null;
}

/** CPython's own limits: MAXLEVEL and MAXINDENT of its tokenizer. */
const MAX_BRACKETS = 200;
const MAX_BLOCKS = 100;

/** Null where brackets do not pair up, or nest deeper than the interpreter allows. */
function logicalLines(tokens: readonly Token[], source: string): Line[] | null {
  const open: string[] = [];
  const lines: Token[][] = [];
  let end = 0;
  for (const token of tokens) {
    const current = lines.at(-1);
    if (current === undefined || (open.length === 0 && breaksLine(source, end, token.from)))
      lines.push([token]);
    else current.push(token);
    end = token.to;
    if (token.kind === 'open' && open.push(token.text) > MAX_BRACKETS) return null;
    if (token.kind === 'close' && PAIRS[open.pop() ?? ''] !== token.text) return null;
  }
  if (open.length > 0) return null;
  return lines.map((line) => ({ tokens: line, indent: indentOf(source, line[0]?.from ?? 0) }));
}

const PAIRS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** Whether a line ends in the space between two tokens; what a comment holds there is no matter. */
function breaksLine(source: string, from: number, to: number): boolean {
  for (let at = source.indexOf('\n', from); at !== -1 && at < to; at = source.indexOf('\n', at + 1)) {
    const isContinued = source[at - 1] === '\\' && !source.slice(from, at).includes('#');
    if (!isContinued) return true;
  }
  return false;
}

function indentOf(source: string, from: number): number | null {
  const start = source.lastIndexOf('\n', from - 1) + 1;
  if (source[start - 2] === '\\') return null;
  let column = 0;
  for (let at = start; at < from; at++) {
    const character = source[at];
    if (character === '\f') column = 0;
    else if (character === '\t') column += 8 - (column % 8);
    else if (character === ' ') column++;
    else return null;
  }
  return column;
}

const SOFT_KEYWORDS: ReadonlySet<string> = new Set(['match', 'case', 'type', 'lazy']);
const HEADERS: ReadonlySet<string> = new Set([
  ...['if', 'elif', 'else', 'for', 'while', 'def', 'class', 'with', 'try', 'except', 'finally', 'async'],
]);
/** Keywords after which something must follow. */
const OPENERS: ReadonlySet<string> = new Set([
  ...[
    'not',
    'lambda',
    'del',
    'assert',
    'import',
    'from',
    'with',
    'if',
    'elif',
    'while',
    'for',
    'class',
    'def',
  ],
  ...['and', 'or', 'in', 'is', 'as', 'await', 'global', 'nonlocal'],
]);

function isBrokenLine({ tokens }: Line): boolean {
  const first = tokens[0];
  const last = tokens.at(-1);
  if (first === undefined || last === undefined) return false;
  if (last.kind === 'operator' || (last.kind === 'keyword' && OPENERS.has(last.text))) return true;
  if (first.kind === 'keyword' && HEADERS.has(first.text) && !tokens.some(({ text }) => text === ':'))
    return true;
  return tokens.some((token, index) => isBrokenPair(token, tokens[index + 1]));
}

/** Whether no program has these two tokens side by side. */
function isBrokenPair(left: Token, right: Token | undefined): boolean {
  if (NO_TOKENS.has(left.text.charAt(0))) return true;
  if (right === undefined) return false;
  if (left.kind === 'operator') {
    // After `print` the grammar reads `>>` as two tokens.
    if (left.to === right.from && (left.text === '>' || left.text === '<')) return false;
    return (
      right.kind === 'close' || (right.kind === 'operator' && !PREFIXES.has(right.text)) || right.text === ','
    );
  }
  return endsOperand(left) && startsOperand(right) && !mayStandTogether(left, right);
}

/** Characters that begin nothing in Python. */
const NO_TOKENS: ReadonlySet<string> = new Set(['$', '?', '`']);
const PREFIXES: ReadonlySet<string> = new Set(['+', '-', '~']);

function endsOperand({ kind }: Token): boolean {
  return kind === 'name' || kind === 'operand' || kind === 'close';
}

function startsOperand({ kind, text }: Token): boolean {
  return kind === 'name' || kind === 'operand' || text === '{';
}

function mayStandTogether(left: Token, right: Token): boolean {
  const areStrings = isString(left) && isString(right);
  const mayBePrefix = left.kind === 'name' && isString(right) && left.to === right.from;
  return areStrings || mayBePrefix || SOFT_KEYWORDS.has(left.text);
}

function isString({ text }: Token): boolean {
  return text.includes('"') || text.includes("'");
}

/** Whether a block is missing where a colon promises one, or the indentation fits no block. */
function hasBrokenBlocks(lines: readonly Line[]): boolean {
  const blocks = [0];
  let promised = false;
  for (const { tokens, indent } of lines) {
    // From here on it is unclear what is a block, so nothing more is sure.
    if (indent === null) return false;
    if (promised && indent <= (blocks.at(-1) ?? 0)) return true;
    if (!promised && indent > (blocks.at(-1) ?? 0)) return true;
    if (promised && blocks.push(indent) > MAX_BLOCKS) return true;
    while (indent < (blocks.at(-1) ?? 0)) blocks.pop();
    if (indent !== blocks.at(-1)) return true;
    promised = tokens.at(-1)?.text === ':';
  }
  return promised;
}
