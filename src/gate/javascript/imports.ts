import type { AnyNode, Node } from 'acorn';
import { Aliases, type Meanings, NO_MEANINGS } from '../aliases.ts';
import type { Inspection } from '../inspection.ts';
import { NOT_PARSED, report, type Sighting } from '../report.ts';
import { allNodes, lineOf, moduleName, parseProgram } from './syntax.ts';

/** Looks for blocked imports and risky calls, in an ES module as in a script of any kind. */
export function inspectJavaScript(code: string, blocked: ReadonlySet<string>): Inspection {
  const program = parseProgram(code.startsWith('\uFEFF') ? code.slice(1) : code);
  if (program === null) return NOT_PARSED;
  const nodes = allNodes(program);
  const scope: Scope = { aliases: new Aliases(), shadowed: namesOfOwnFunctions(program) };
  const bindings = nodes.flatMap(bindingsOf);
  for (let round = 0; round < ALIAS_ROUNDS; round++) {
    for (const { name, value, property } of bindings) {
      const meanings = typeof value === 'string' ? [value] : meaningsOf(value, scope);
      scope.aliases.add(name, property === null ? meanings : [...meanings].map((of) => member(of, property)));
    }
  }
  return report(
    nodes.flatMap((node) => sightingsAt(node, scope)),
    blocked,
    ['/'],
  );
}

interface Scope {
  readonly aliases: Aliases;
  /** Names that the program gives to functions of its own. */
  readonly shadowed: ReadonlySet<string>;
}

/** `const c = b` may stand before `b = a`; longer chains in the wrong order are not followed. */
const ALIAS_ROUNDS = 3;
const MAX_DEPTH = 64;

interface Binding {
  readonly name: string;
  /** An expression, or the module that is meant. */
  readonly value: AnyNode | string;
  readonly property: string | null;
}

function bindingsOf(node: AnyNode): Binding[] {
  if (node.type === 'VariableDeclarator' && node.init) return targets(node.id, node.init);
  if (node.type === 'AssignmentExpression') return targets(node.left, node.right);
  if (node.type !== 'ImportDeclaration') return [];
  const value = moduleName(String(node.source.value));
  return node.specifiers.map((specifier) => ({
    name: specifier.local.name,
    value,
    property: specifier.type === 'ImportSpecifier' ? nameOfKey(specifier.imported, false) : null,
  }));
}

function targets(target: AnyNode, value: AnyNode): Binding[] {
  if (target.type === 'Identifier') return [{ name: target.name, value, property: null }];
  if (target.type !== 'ObjectPattern') return [];
  return target.properties.flatMap((property) => {
    if (property.type !== 'Property') return [];
    const bound = property.value.type === 'AssignmentPattern' ? property.value.left : property.value;
    const key = nameOfKey(property.key, property.computed);
    return bound.type === 'Identifier' && key !== null ? [{ name: bound.name, value, property: key }] : [];
  });
}

function namesOfOwnFunctions(program: AnyNode): ReadonlySet<string> {
  if (program.type !== 'Program') return new Set();
  return new Set(
    program.body.flatMap((statement): string[] => {
      const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
      switch (declared?.type) {
        case 'FunctionDeclaration':
        case 'ClassDeclaration':
          return [declared.id.name];
        case 'ImportDeclaration':
          return declared.specifiers.map(({ local }) => local.name);
        case 'VariableDeclaration':
          return declared.declarations.flatMap(({ id, init }) =>
            id.type === 'Identifier' && init && FUNCTIONS.has(init.type) ? [id.name] : [],
          );
        default:
          return [];
      }
    }),
  );
}

const FUNCTIONS: ReadonlySet<string> = new Set([
  'FunctionExpression',
  'ArrowFunctionExpression',
  'ClassExpression',
]);
const GLOBALS: ReadonlySet<string> = new Set([
  ...['require', 'module', 'process', 'globalThis', 'global', 'eval', 'Function'],
]);

/** What an expression stands for, e.g. `child_process.exec`; an empty set where that is not plain to see. */
function meaningsOf(node: AnyNode, scope: Scope, depth = 0): Meanings {
  if (depth > MAX_DEPTH) return NO_MEANINGS;
  const inner = (child: AnyNode) => meaningsOf(child, scope, depth + 1);
  switch (node.type) {
    case 'Identifier': {
      const isGlobal = GLOBALS.has(node.name) && !scope.shadowed.has(node.name);
      return new Set([...(scope.aliases.meaningsOf(node.name) ?? []), ...(isGlobal ? [node.name] : [])]);
    }
    case 'MemberExpression': {
      const property = nameOfKey(node.property, node.computed);
      if (property === null) return NO_MEANINGS;
      return new Set([...inner(node.object)].map((object) => member(object, property)));
    }
    case 'ChainExpression':
      return inner(node.expression);
    case 'AwaitExpression':
      return inner(node.argument);
    case 'AssignmentExpression':
      return inner(node.right);
    case 'SequenceExpression':
      return inner(node.expressions.at(-1) as AnyNode);
    case 'LogicalExpression':
      return new Set([...inner(node.left), ...inner(node.right)]);
    case 'ConditionalExpression':
      return new Set([...inner(node.consequent), ...inner(node.alternate)]);
    case 'ImportExpression':
      return asSet(moduleOf(node.source));
    case 'CallExpression': {
      const callees = inner(node.callee);
      if (callees.has('module.createRequire')) return new Set(['require']);
      return [...callees].some((callee) => IMPORTERS.has(callee))
        ? asSet(moduleOf(node.arguments[0]))
        : NO_MEANINGS;
    }
    default:
      return NO_MEANINGS;
  }
}

function asSet(module: string | null): Meanings {
  return module === null ? NO_MEANINGS : new Set([module]);
}

function member(object: string, property: string): string {
  if (property === 'default') return object;
  if ((object === 'globalThis' || object === 'global') && GLOBALS.has(property)) return property;
  const name = `${object}.${property}`;
  return SAME_AS[name] ?? name;
}

const SAME_AS: Readonly<Record<string, string>> = {
  'module.require': 'require',
  'require.main': 'module',
  'process.mainModule': 'module',
};

const IMPORTERS: ReadonlySet<string> = new Set([
  ...['require', 'process.binding', 'process.getBuiltinModule', 'module._load'],
]);

const STARTS_PROGRAMS = 'starts another program';
const RUNS_TEXT = 'runs text as code';
const DANGEROUS: ReadonlyMap<string, string> = new Map([
  ['eval', RUNS_TEXT],
  ['Function', RUNS_TEXT],
  ['process.binding', 'reaches into the internals of Node'],
  ...['exec', 'execSync', 'execFile', 'execFileSync', 'spawn', 'spawnSync', 'fork'].map(
    (name) => [`child_process.${name}`, STARTS_PROGRAMS] as const,
  ),
]);

function sightingsAt(node: AnyNode, scope: Scope): Sighting[] {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportAllDeclaration':
    case 'ExportNamedDeclaration':
    case 'ImportExpression':
      return node.source ? imports(moduleOf(node.source), node) : [];
    case 'NewExpression':
    case 'CallExpression': {
      const callees = [...meaningsOf(node.callee, scope)];
      const imported = callees.some((callee) => IMPORTERS.has(callee)) ? moduleOf(node.arguments[0]) : null;
      return [...imports(imported, node), ...callees.flatMap((callee) => dangerous(callee, node))];
    }
    case 'TaggedTemplateExpression': {
      const callees = [...meaningsOf(node.tag, scope)];
      return callees.flatMap((callee) => dangerous(callee, node));
    }
    default:
      return [];
  }
}

function imports(module: string | null, node: Node): Sighting[] {
  return module === null ? [] : [{ kind: 'import', modules: [module], line: lineOf(node) }];
}

function dangerous(name: string, node: Node): Sighting[] {
  const why = DANGEROUS.get(name);
  return why === undefined ? [] : [{ kind: 'call', name, why, line: lineOf(node) }];
}

function nameOfKey(key: AnyNode, computed: boolean): string | null {
  return key.type === 'Identifier' && !computed ? key.name : literalOf(key);
}

function moduleOf(node: AnyNode | undefined): string | null {
  const text = node === undefined ? null : literalOf(node);
  return text === null ? null : moduleName(text);
}

/** The text of an expression that is plainly one string. */
function literalOf(node: AnyNode, depth = 0): string | null {
  if (depth > MAX_DEPTH) return null;
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null;
  if (node.type === 'TemplateLiteral' && node.expressions.length === 0) {
    return node.quasis[0]?.value.cooked ?? null;
  }
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return null;
  const left = literalOf(node.left, depth + 1);
  const right = left === null ? null : literalOf(node.right, depth + 1);
  return left === null || right === null ? null : left + right;
}
