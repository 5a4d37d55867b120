/** Shows the expressions of a Python program as shapes. */
import type { SyntaxNode } from '@lezer/common';
import { isDisguised } from '../reading/decoding.ts';
import type { Argument, Loop, Shape, Step } from '../reading/shapes.ts';
import { NOTHING, named, ofNumber } from '../reading/values.ts';
import { childrenOf, importsOf, nameOf } from './statements.ts';
import { bodyOf, delimitersOf, textOf } from './strings.ts';

const UNKNOWN_SHAPE: Shape<SyntaxNode> = { kind: 'unknown' };

/** Stands for what an import statement calls. */
export const IMPORT_STATEMENT = 'import statement';
const MAX_MODULES = 64;

/** Where each function of the program stands in its list. */
export type FunctionIndex = (node: SyntaxNode) => number;

export function pythonShape(
  node: SyntaxNode,
  source: string,
  functionIndex: FunctionIndex,
): Shape<SyntaxNode> {
  const children = (): SyntaxNode[] => meaningful(node);
  switch (node.type.name) {
    case 'VariableName':
      return { kind: 'name', name: nameOf(node, source) };
    case 'Boolean':
      return { kind: 'value', value: ofNumber(source.slice(node.from, node.to) === 'True' ? 1 : 0) };
    case 'None':
      return { kind: 'value', value: { ...NOTHING, isOpen: false } };
    case 'Number':
      return numberShape(source.slice(node.from, node.to));
    case 'String':
    case 'FormatString':
    case 'ContinuedString':
      return textShape(node, source);
    case 'ParenthesizedExpression': {
      const inner = children()[1];
      return inner === undefined ? UNKNOWN_SHAPE : { kind: 'any', of: [inner] };
    }
    case 'ReturnStatement':
    case 'YieldStatement':
      return { kind: 'list', items: argumentsOf(children().slice(1), source) };
    case 'NamedExpression':
    case 'AwaitExpression':
    case 'YieldExpression':
      return node.lastChild === null ? UNKNOWN_SHAPE : { kind: 'any', of: [node.lastChild] };
    case 'MemberExpression':
      return memberShape(node, source);
    case 'CallExpression':
      return callShape(node, source);
    case 'BinaryExpression':
      return binaryShape(node, source);
    case 'UnaryExpression': {
      const number = node.lastChild?.type.name === 'Number' ? node.lastChild : null;
      return number === null || source[node.from] !== '-'
        ? UNKNOWN_SHAPE
        : numberShape(`-${source.slice(number.from, number.to)}`);
    }
    case 'ConditionalExpression': {
      const [first, , , , last] = children();
      return first === undefined || last === undefined ? UNKNOWN_SHAPE : { kind: 'any', of: [first, last] };
    }
    case 'ArrayExpression':
    case 'TupleExpression':
    case 'SetExpression':
      return { kind: 'list', items: argumentsOf(children().slice(1), source) };
    case 'DictionaryExpression':
      return { kind: 'table', entries: entriesOf(children().slice(1)) };
    case 'ArrayComprehensionExpression':
    case 'ComprehensionExpression':
    case 'SetComprehensionExpression':
      return comprehensionShape(children().slice(1), source);
    case 'DictionaryComprehensionExpression':
    case 'ArgList':
      return comprehensionShape(children().slice(1), source);
    case 'ArithOp':
      return { kind: 'value', value: named([`operator ${source.slice(node.from, node.to)}`]) };
    case 'ImportStatement': {
      const texts = importsOf(node, source).flatMap(({ modules }) => modules);
      return { kind: 'value', value: { ...named([IMPORT_STATEMENT]), texts: texts.slice(0, MAX_MODULES) } };
    }
    case 'LambdaExpression':
      return { kind: 'function', index: functionIndex(node) };
    default:
      return UNKNOWN_SHAPE;
  }
}

/** Without comments, and with what stands in a gap of the grammar. */
export function meaningful(node: SyntaxNode): SyntaxNode[] {
  return childrenOf(node).flatMap((child) => {
    if (child.type.name === 'Comment') return [];
    return child.type.isError ? meaningful(child) : [child];
  });
}

function numberShape(text: string): Shape<SyntaxNode> {
  const number = Number(text.replaceAll('_', '').replace(/^(-?)0(?=\d)/, '$1'));
  return Number.isNaN(number) ? UNKNOWN_SHAPE : { kind: 'value', value: ofNumber(number) };
}

function textShape(node: SyntaxNode, source: string): Shape<SyntaxNode> {
  const literals = node.type.name === 'ContinuedString' ? childrenOf(node) : [node];
  const parts: (string | SyntaxNode)[] = [];
  let disguised = false;
  for (const literal of literals) {
    const written = source.slice(literal.from, literal.to);
    disguised ||= isDisguised(written) && !delimitersOf(written).prefix.includes('r');
    const holes = literal.getChildren('FormatReplacement');
    if (holes.length === 0) {
      parts.push(textOf(written));
      continue;
    }
    const { prefix, quote } = delimitersOf(written);
    let from = literal.from + prefix.length + quote.length;
    for (const hole of holes) {
      parts.push(bodyOf(source.slice(from, hole.from), prefix));
      const inner = hole.firstChild?.nextSibling;
      if (inner) parts.push(inner);
      from = hole.to;
    }
    parts.push(bodyOf(source.slice(from, literal.to - quote.length), prefix));
  }
  return { kind: 'text', parts, isDisguised: disguised };
}

function memberShape(node: SyntaxNode, source: string): Shape<SyntaxNode> {
  const object = node.firstChild;
  if (object === null) return UNKNOWN_SHAPE;
  const property = node.getChild('PropertyName');
  if (property !== null) return { kind: 'member', object, property: nameOf(property, source) };
  const inside = meaningful(node).slice(2, -1);
  if (!inside.some(({ type }) => type.name === ':')) {
    return inside[0] === undefined ? UNKNOWN_SHAPE : { kind: 'member', object, property: inside[0] };
  }
  const bounds: (SyntaxNode | null)[] = [null];
  for (const child of inside) {
    if (child.type.name === ':') bounds.push(null);
    else bounds[bounds.length - 1] = child;
  }
  const [from = null, to = null, step = null] = bounds;
  return { kind: 'slice', object, from, to, step };
}

export function callShape(
  node: SyntaxNode,
  source: string,
): Extract<Shape<SyntaxNode>, { kind: 'call' }> | { kind: 'unknown' } {
  const callee = node.firstChild;
  const list = node.getChild('ArgList');
  if (callee === null || list === null) return { kind: 'unknown' };
  const children = meaningful(list).slice(1);
  const args = isComprehension(children) ? [{ node: list }] : argumentsOf(children, source);
  return { kind: 'call', callee, args, isNew: false };
}

function isComprehension(children: readonly SyntaxNode[]): boolean {
  return children.some(({ type }) => type.name === 'for');
}

/** What stands between brackets, up to the closing one. */
export function argumentsOf(children: readonly SyntaxNode[], source: string): Argument<SyntaxNode>[] {
  const args: Argument<SyntaxNode>[] = [];
  let spread: 'list' | 'table' | undefined;
  for (let i = 0; i < children.length; i++) {
    const child = children[i] as SyntaxNode;
    const { name } = child.type;
    if (CLOSING.has(name)) break;
    if (name === ',') spread = undefined;
    else if (name === '*' || name === '**') spread = name === '*' ? 'list' : 'table';
    else if (name === 'ArithOp' && /^\*\*?$/.test(source.slice(child.from, child.to))) {
      spread = child.to - child.from === 1 ? 'list' : 'table';
    } else if (children[i + 1]?.type.name === 'AssignOp') {
      const node = children[i + 2];
      if (node !== undefined) args.push({ node, keyword: nameOf(child, source) });
      i += 2;
    } else args.push({ node: child, ...(spread === undefined ? {} : { spread }) });
  }
  return args;
}

const CLOSING: ReadonlySet<string> = new Set([')', ']', '}']);

function entriesOf(children: readonly SyntaxNode[]): { key: SyntaxNode | null; value: SyntaxNode }[] {
  const entries: { key: SyntaxNode | null; value: SyntaxNode }[] = [];
  for (let i = 0; i < children.length; i++) {
    const [key, colon, value] = children.slice(i, i + 3);
    if (key?.type.name === '**' && colon !== undefined) {
      entries.push({ key: null, value: colon });
      i++;
    } else if (key !== undefined && colon?.type.name === ':' && value !== undefined) {
      entries.push({ key, value });
      i += 2;
    }
  }
  return entries;
}

function comprehensionShape(children: readonly SyntaxNode[], source: string): Shape<SyntaxNode> {
  const of = children[0];
  const loops = loopsOf(children, source);
  return of === undefined || loops.length === 0 ? UNKNOWN_SHAPE : { kind: 'each', of, loops };
}

/** Each `for targets in over` of a comprehension or a statement. */
export function loopsOf(children: readonly SyntaxNode[], source: string): Loop<SyntaxNode>[] {
  const loops: Loop<SyntaxNode>[] = [];
  for (let i = 0; i < children.length; i++) {
    if (children[i]?.type.name !== 'for') continue;
    const at = children.findIndex(({ type }, j) => j > i && type.name === 'in');
    const over = children[at + 1];
    if (at < 0 || over === undefined) break;
    loops.push({ targets: targetsOf(children.slice(i + 1, at), source), over });
    i = at;
  }
  return loops;
}

export interface Target {
  readonly name: string;
  readonly path: readonly Step[];
}

/** The names that get something, and which part of it. An attribute is a name that begins with a dot. */
export function targetsOf(
  nodes: readonly SyntaxNode[],
  source: string,
  path: readonly Step[] = [],
): Target[] {
  const list = nodes.filter(({ type }) => type.name !== ',' && !CLOSING.has(type.name));
  const isList = list.length > 1 || nodes.length > list.length;
  return list.flatMap((node, i): Target[] => {
    const own = isList ? [...path, i] : path;
    switch (node.type.name) {
      case 'VariableName':
        return [{ name: nameOf(node, source), path: own }];
      case 'TupleExpression':
      case 'ArrayExpression':
      case 'ParenthesizedExpression':
        return own.length > 6 ? [] : targetsOf(meaningful(node).slice(1), source, own);
      case 'MemberExpression': {
        const name = attributeOf(node, source);
        return name === null ? [] : [{ name: `.${name}`, path: own }];
      }
      default:
        return [];
    }
  });
}

function attributeOf(node: SyntaxNode, source: string): string | null {
  const property = node.getChild('PropertyName');
  if (property !== null) return nameOf(property, source);
  const key = meaningful(node)[2];
  return key?.type.name === 'String' ? textOf(source.slice(key.from, key.to)) : null;
}

function binaryShape(node: SyntaxNode, source: string): Shape<SyntaxNode> {
  const { firstChild: left, lastChild: right } = node;
  const operator = left?.nextSibling;
  if (!left || !right || !operator) return UNKNOWN_SHAPE;
  const text = source.slice(operator.from, operator.to);
  if (text === 'and' || text === 'or') return { kind: 'any', of: [left, right] };
  if (text === '+') return { kind: 'sum', parts: addends(node, source) };
  if (!/^(Arith|Bit)Op$/.test(operator.type.name)) return UNKNOWN_SHAPE;
  return { kind: 'operation', operator: text, left, right };
}

const MAX_ADDENDS = 256;

/** A long sum is a deep tree, whose left side is the one before. */
function addends(sum: SyntaxNode, source: string): SyntaxNode[] {
  const parts: SyntaxNode[] = [];
  let node: SyntaxNode = sum;
  while (parts.length < MAX_ADDENDS && node.type.name === 'BinaryExpression') {
    const operator = node.firstChild?.nextSibling;
    if (!node.firstChild || !node.lastChild || source.slice(operator?.from, operator?.to) !== '+') break;
    parts.push(node.lastChild);
    node = node.firstChild;
  }
  return [...parts, node].reverse();
}
