import type { SyntaxNode } from '@lezer/common';

const MAX_DEPTH = 12;

/** The text of a Python expression that is plainly one string; bytes are none. */
export function literalOf(node: SyntaxNode | null, source: string, depth = 0): string | null {
  if (node === null || depth > MAX_DEPTH) return null;
  switch (node.type.name) {
    case 'String':
      return textOfLiteral(source.slice(node.from, node.to));
    case 'FormatString':
      return node.getChild('FormatReplacement') === null
        ? textOfLiteral(source.slice(node.from, node.to))
        : null;
    case 'ContinuedString':
      return joined([...node.getChildren('String'), ...node.getChildren('FormatString')], source, depth);
    case 'ParenthesizedExpression':
      return literalOf(node.firstChild?.nextSibling ?? null, source, depth + 1);
    case 'BinaryExpression': {
      const operator = node.getChild('ArithOp');
      if (operator === null || source.slice(operator.from, operator.to) !== '+') return null;
      return joined([node.firstChild, node.lastChild], source, depth);
    }
    default:
      return null;
  }
}

function joined(nodes: readonly (SyntaxNode | null)[], source: string, depth: number): string | null {
  const inOrder = [...nodes].sort((a, b) => (a?.from ?? 0) - (b?.from ?? 0));
  const texts = inOrder.map((node) => literalOf(node, source, depth + 1));
  return texts.includes(null) ? null : texts.join('');
}

/** The value of one literal, quotes and prefix included, as `ast.literal_eval` gives it; null for bytes. */
function textOfLiteral(literal: string): string | null {
  return delimitersOf(literal).prefix.includes('b') ? null : textOf(literal);
}

/** The same, where bytes are a text of one character each. */
export function textOf(literal: string): string {
  const { prefix, quote } = delimitersOf(literal);
  return bodyOf(literal.slice(prefix.length + quote.length, literal.length - quote.length), prefix);
}

/** What stands between the quotes, or between two replacements of a format string. */
export function bodyOf(body: string, prefix: string): string {
  const text = prefix.includes('f') ? body.replaceAll('{{', '{').replaceAll('}}', '}') : body;
  return prefix.includes('r') ? text : unescaped(text);
}

/** The prefix in lower case and the opening quote, which is three characters for a long string. */
export function delimitersOf(literal: string): { readonly prefix: string; readonly quote: string } {
  let length = 0;
  while (length < literal.length && literal[length] !== '"' && literal[length] !== "'") length++;
  const mark = literal[length] ?? '';
  const quote = literal.startsWith(mark.repeat(3), length) ? mark.repeat(3) : mark;
  return { prefix: literal.slice(0, length).toLowerCase(), quote };
}

const ESCAPE = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|\n|([\s\S]))/g;
const CONTROLS: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
};

function unescaped(text: string): string {
  return text.replace(ESCAPE, (whole, x?: string, u?: string, U?: string, octal?: string, other?: string) => {
    const hex = x ?? u ?? U;
    if (hex !== undefined) return characterOf(Number.parseInt(hex, 16));
    if (octal !== undefined) return characterOf(Number.parseInt(octal, 8));
    if (other === undefined) return '';
    if (other === '\\' || other === "'" || other === '"') return other;
    return CONTROLS[other] ?? whole;
  });
}

function characterOf(code: number): string {
  return code > 0x10ffff ? '\uFFFD' : String.fromCodePoint(code);
}
