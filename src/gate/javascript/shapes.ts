/** Shows the expressions of a JavaScript program as shapes. */
import type { AnyNode } from 'acorn';
import { isDisguised } from '../reading/decoding.ts';
import type { Argument, CallSite, Shape } from '../reading/shapes.ts';
import { NOTHING, named, ofNumber } from '../reading/values.ts';

const UNKNOWN_SHAPE: Shape<AnyNode> = { kind: 'unknown' };

/** Stands for what is called by `import(...)`. */
const IMPORT = { type: 'Identifier', name: 'import', start: 0, end: 0 } as AnyNode;

export function javaScriptShape(node: AnyNode, functionIndex: (node: AnyNode) => number): Shape<AnyNode> {
  switch (node.type) {
    case 'Identifier':
      return node.name === 'undefined'
        ? { kind: 'value', value: { ...NOTHING, isOpen: false } }
        : { kind: 'name', name: node.name };
    case 'ThisExpression':
      return { kind: 'name', name: 'this' };
    case 'Literal':
      return node.regex ? regexShape(node.regex.pattern) : literalShape(node.value, node.raw ?? '');
    case 'TemplateLiteral': {
      const parts = node.quasis.flatMap((quasi, i) => {
        const hole = node.expressions[i];
        return [quasi.value.cooked ?? quasi.value.raw, ...(hole === undefined ? [] : [hole])];
      });
      const disguised = node.quasis.some(({ value }) => isDisguised(value.raw));
      return { kind: 'text', parts, isDisguised: disguised };
    }
    case 'MemberExpression':
      if (node.object.type === 'Super') return UNKNOWN_SHAPE;
      return {
        kind: 'member',
        object: node.object,
        property:
          node.property.type === 'PrivateIdentifier'
            ? `#${node.property.name}`
            : node.property.type === 'Identifier' && !node.computed
              ? node.property.name
              : node.property,
      };
    case 'ChainExpression':
    case 'ParenthesizedExpression':
      return { kind: 'any', of: [node.expression] };
    case 'AwaitExpression':
      return { kind: 'any', of: [node.argument] };
    case 'YieldExpression':
      return node.argument ? { kind: 'any', of: [node.argument] } : UNKNOWN_SHAPE;
    case 'AssignmentExpression':
      return { kind: 'any', of: [node.right] };
    case 'SequenceExpression': {
      const last = node.expressions.at(-1);
      return last === undefined ? UNKNOWN_SHAPE : { kind: 'any', of: [last] };
    }
    case 'LogicalExpression':
      return { kind: 'any', of: [node.left, node.right] };
    case 'ConditionalExpression':
      return { kind: 'any', of: [node.consequent, node.alternate] };
    case 'BinaryExpression':
      return node.operator === '+'
        ? { kind: 'sum', parts: addends(node) }
        : { kind: 'operation', operator: node.operator, left: node.left, right: node.right };
    case 'UnaryExpression':
      return {
        kind: 'operation',
        operator: `unary ${node.operator}`,
        left: node.argument,
        right: node.argument,
      };
    case 'ArrayExpression':
      return { kind: 'list', items: argumentsOf(node.elements) };
    case 'ObjectExpression':
      return { kind: 'table', entries: node.properties.map(entryOf) };
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
      return { kind: 'function', index: functionIndex(node) };
    default:
      return callShape(node) ?? UNKNOWN_SHAPE;
  }
}

/** What calls something: also `new`, `import()` and a tag before a template. */
export function callShape(node: AnyNode): CallSite<AnyNode>['shape'] | undefined {
  switch (node.type) {
    case 'CallExpression':
    case 'NewExpression':
      if (node.callee.type === 'Super') return undefined;
      return {
        ...{ kind: 'call', callee: node.callee, args: argumentsOf(node.arguments) },
        isNew: node.type === 'NewExpression',
      };
    case 'ImportExpression':
      return { kind: 'call', callee: IMPORT, args: [{ node: node.source }], isNew: false };
    case 'TaggedTemplateExpression':
      return { kind: 'call', callee: node.tag, args: [{ node: node.quasi }], isNew: false };
    default:
      return undefined;
  }
}

/** As a text where it means one; others are not tried, since they may take forever. */
function regexShape(pattern: string): Shape<AnyNode> {
  const isPlain = /^[\w !#%&~`'",:;<>=@-]+$/.test(pattern);
  return { kind: 'value', value: { ...named(['RegExp']), texts: isPlain ? [pattern] : [] } };
}

function literalShape(value: unknown, raw: string): Shape<AnyNode> {
  if (typeof value === 'string') return { kind: 'text', parts: [value], isDisguised: isDisguised(raw) };
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return { kind: 'value', value: ofNumber(Number(value)) };
  return value === null && raw === 'null'
    ? { kind: 'value', value: { ...NOTHING, isOpen: false } }
    : UNKNOWN_SHAPE;
}

function argumentsOf(list: readonly (AnyNode | null)[]): Argument<AnyNode>[] {
  return list.flatMap((node): Argument<AnyNode>[] => {
    if (node === null) return [];
    return node.type === 'SpreadElement' ? [{ node: node.argument, spread: 'list' }] : [{ node }];
  });
}

function entryOf(property: AnyNode): { key: string | AnyNode | null; value: AnyNode } {
  if (property.type === 'SpreadElement') return { key: null, value: property.argument };
  if (property.type !== 'Property') return { key: null, value: property };
  const { key, computed, value } = property;
  return { key: key.type === 'Identifier' && !computed ? key.name : key, value };
}

const MAX_ADDENDS = 256;

/** A long sum is a deep tree, whose left side is the one before. */
function addends(sum: AnyNode): AnyNode[] {
  const parts: AnyNode[] = [];
  let node = sum;
  while (parts.length < MAX_ADDENDS && node.type === 'BinaryExpression' && node.operator === '+') {
    parts.push(node.right);
    node = node.left;
  }
  return [...parts, node].reverse();
}
