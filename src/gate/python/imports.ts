import type { SyntaxNode, Tree } from '@lezer/common';
import { parser } from '@lezer/python';
import { Aliases, type Meanings, NO_MEANINGS } from '../aliases.ts';
import type { Inspection } from '../inspection.ts';
import { NOT_PARSED, report, type Sighting } from '../report.ts';
import { surelyBroken } from './errors.ts';
import {
  type Assignment,
  assignmentsOf,
  importsOf,
  lineFinder,
  nameOf,
  subscriptOf,
  withPlainLineEnds,
} from './statements.ts';
import { literalOf } from './strings.ts';

/**
 * Looks for blocked imports and risky calls.
 *
 * The interpreter runs a file only if all of it parses, so a real syntax error makes every import harmless and
 * the interpreter explains it best. But the grammar used here is behind the language (it rejects a bare `yield`,
 * `1.` and `with (a as b)`), so its error nodes prove nothing. Hence code counts as broken only where
 * `surelyBroken` sees what no version of Python accepts; everything else is judged by what the tree shows,
 * error nodes or not.
 */
export function inspectPython(code: string, blocked: ReadonlySet<string>): Inspection {
  try {
    return inspectSource(withPlainLineEnds(code), blocked);
  } catch (error) {
    // RangeError: nested too deeply for the stack, here as in the interpreter.
    if (error instanceof RangeError) return NOT_PARSED;
    throw error;
  }
}

function inspectSource(source: string, blocked: ReadonlySet<string>): Inspection {
  const tree = parser.parse(source);
  if (surelyBroken(source, tree)) return NOT_PARSED;
  const scope = scopeOf(source, tree);
  const lineAt = lineFinder(source);
  const sightings: Sighting[] = [];
  tree.iterate({
    enter(at) {
      const visit = VISITS[at.type.name];
      if (visit === undefined) return;
      const line = lineAt(at.from);
      for (const seen of visit(at.node, scope)) sightings.push({ ...seen, line });
    },
  });
  return report(sightings, blocked, ['.']);
}

interface Scope {
  readonly source: string;
  readonly aliases: Aliases;
  /** Names that the program gives to functions and classes of its own. */
  readonly shadowed: ReadonlySet<string>;
}

type Seen =
  | Omit<Extract<Sighting, { kind: 'import' }>, 'line'>
  | Omit<Extract<Sighting, { kind: 'call' }>, 'line'>;

/** `c = b` may stand before `b = a`; longer chains in the wrong order are not followed. */
const ALIAS_ROUNDS = 3;
/** Also bounds the work for a chain of very many calls. */
const MAX_DEPTH = 12;

const VISITS: Readonly<Record<string, (node: SyntaxNode, scope: Scope) => Seen[]>> = {
  ImportStatement: (node, { source }) =>
    importsOf(node, source).map(({ modules }) => ({ kind: 'import', modules })),
  CallExpression: (node, scope) => {
    const callee = node.firstChild;
    return callee === null ? [] : callsOf(meaningsOf(callee, scope), node.getChild('ArgList'), scope);
  },
  Decorator: (node, scope) => {
    const parts = node.getChildren('VariableName').map((part) => nameOf(part, scope.source));
    const [first, ...rest] = parts;
    if (first === undefined) return [];
    const meanings = [...meaningsOfName(first, scope)].map((meaning) => [meaning, ...rest].join('.'));
    return callsOf(new Set(meanings), node.getChild('ArgList'), scope);
  },
};

function callsOf(callees: Meanings, argumentList: SyntaxNode | null, scope: Scope): Seen[] {
  const imported = importedBy(callees, argumentList, scope.source);
  const seen: Seen[] = imported === null ? [] : [{ kind: 'import', modules: [imported] }];
  for (const name of callees) {
    const why = dangerOf(name);
    if (why !== null) seen.push({ kind: 'call', name: name.replace(/^builtins\./, ''), why });
  }
  return seen;
}

function dangerOf(name: string): string | null {
  const [module = '', callee = ''] = name.split('.');
  if (name.split('.').length !== 2) return null;
  if (module === 'builtins' && ['eval', 'exec', 'compile'].includes(callee)) return 'runs text as code';
  if (module === 'pickle' && ['load', 'loads'].includes(callee))
    return 'can run code that is hidden in the data';
  const startsProgram =
    module === 'subprocess' ||
    (module === 'os' && (['system', 'popen'].includes(callee) || /^(exec|spawn|posix_spawn)/.test(callee)));
  return startsProgram ? 'starts another program' : null;
}

const IMPORTERS = ['builtins.__import__', 'importlib.import_module', 'importlib.__import__'];

/** The module that a call such as `__import__("os")` asks for; a relative one is the program's own. */
function importedBy(callees: Meanings, argumentList: SyntaxNode | null, source: string): string | null {
  if (argumentList === null || !IMPORTERS.some((importer) => callees.has(importer))) return null;
  const text = argumentText(argumentList, source);
  return text === null || text.startsWith('.') ? null : text;
}

function argumentText(argumentList: SyntaxNode, source: string): string | null {
  const first = argumentList.firstChild?.nextSibling ?? null;
  if (first?.type.name !== 'VariableName' || first.nextSibling?.type.name !== 'AssignOp') {
    return literalOf(first, source);
  }
  const keyword = argumentList
    .getChildren('VariableName')
    .find((node) => nameOf(node, source) === 'name' && node.nextSibling?.type.name === 'AssignOp');
  return literalOf(keyword?.nextSibling?.nextSibling ?? null, source);
}

function scopeOf(source: string, tree: Tree): Scope {
  const aliases = new Aliases();
  const shadowed = new Set<string>();
  const assignments: Assignment[] = [];
  tree.iterate({
    enter(at) {
      if (!BINDING_NODES.has(at.type.name)) return;
      const { type, node } = at;
      switch (type.name) {
        case 'ImportStatement':
          for (const { boundTo, meaning } of importsOf(node, source)) {
            if (boundTo !== null) aliases.add(boundTo, [meaning]);
          }
          break;
        case 'AssignStatement':
        case 'NamedExpression':
          assignments.push(...assignmentsOf(node, source));
          break;
        case 'FunctionDefinition':
        case 'ClassDefinition': {
          const name = node.getChild('VariableName');
          const outer = node.parent?.type.name === 'DecoratedStatement' ? node.parent.parent : node.parent;
          if (name !== null && outer?.type.name === 'Script') shadowed.add(nameOf(name, source));
          break;
        }
      }
    },
  });
  const scope = { source, aliases, shadowed };
  for (let round = 0; round < ALIAS_ROUNDS; round++) {
    for (const { name, value } of assignments) aliases.add(name, meaningsOf(value, scope));
  }
  return scope;
}

const BINDING_NODES: ReadonlySet<string> = new Set([
  ...['ImportStatement', 'AssignStatement', 'NamedExpression', 'FunctionDefinition', 'ClassDefinition'],
]);

/** What an expression stands for, e.g. `os.system`; an empty set where that is not plain to see. */
function meaningsOf(node: SyntaxNode, scope: Scope, depth = 0): Meanings {
  if (depth > MAX_DEPTH) return NO_MEANINGS;
  const { source } = scope;
  switch (node.type.name) {
    case 'VariableName':
      return meaningsOfName(nameOf(node, source), scope);
    case 'ParenthesizedExpression': {
      const inner = node.firstChild?.nextSibling;
      return inner ? meaningsOf(inner, scope, depth + 1) : NO_MEANINGS;
    }
    case 'NamedExpression':
    case 'AwaitExpression':
      return node.lastChild === null ? NO_MEANINGS : meaningsOf(node.lastChild, scope, depth + 1);
    case 'MemberExpression': {
      const property = node.getChild('PropertyName');
      const name = property === null ? literalOf(subscriptOf(node), source) : nameOf(property, source);
      return membersOf(node.firstChild, name, scope, depth);
    }
    case 'CallExpression':
      return meaningsOfCall(node, scope, depth);
    default:
      return NO_MEANINGS;
  }
}

const BUILTINS: ReadonlySet<string> = new Set(['eval', 'exec', 'compile', 'getattr']);

function meaningsOfName(name: string, { aliases, shadowed }: Scope): Meanings {
  const known = aliases.meaningsOf(name) ?? NO_MEANINGS;
  // Whoever defines a function of this name may still have called the real one before.
  if (name === '__import__') return new Set([...known, 'builtins.__import__']);
  if (name === '__builtins__') return new Set([...known, 'builtins']);
  return BUILTINS.has(name) && !shadowed.has(name) && known.size === 0
    ? new Set([`builtins.${name}`])
    : known;
}

function membersOf(object: SyntaxNode | null, name: string | null, scope: Scope, depth: number): Meanings {
  if (object === null || name === null) return NO_MEANINGS;
  return new Set([...meaningsOf(object, scope, depth + 1)].map((of) => `${of}.${name}`));
}

/** A call that gives a module, or `getattr` of one. */
function meaningsOfCall(node: SyntaxNode, scope: Scope, depth: number): Meanings {
  const argumentList = node.getChild('ArgList');
  if (node.firstChild === null || argumentList === null) return NO_MEANINGS;
  const callees = meaningsOf(node.firstChild, scope, depth + 1);
  if (callees.has('builtins.getattr')) {
    const object = argumentList.firstChild?.nextSibling ?? null;
    return membersOf(object, literalOf(object?.nextSibling?.nextSibling ?? null, scope.source), scope, depth);
  }
  const module = importedBy(callees, argumentList, scope.source);
  if (module === null) return NO_MEANINGS;
  return new Set([callees.has('importlib.import_module') ? module : (module.split('.')[0] ?? module)]);
}
