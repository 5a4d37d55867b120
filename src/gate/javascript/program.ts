/** Walks a JavaScript program once for all that gives names a meaning and all that is called. */
import type { AnyNode } from 'acorn';
import {
  type Binding,
  type Block,
  type CallSite,
  EACH,
  type LoopKind,
  newBlock,
  newScope,
  OUTSIDE,
  type OwnFunction,
  type Program,
  type Scope,
  type Shape,
  type Step,
} from '../reading/shapes.ts';
import { NOTHING, named, type Value } from '../reading/values.ts';
import { canonical, globalNamed, memberOf } from './names.ts';
import { callShape, javaScriptShape } from './shapes.ts';
import { childrenOf, lineOf, moduleName } from './syntax.ts';

export interface JavaScriptProgram extends Program<AnyNode> {
  readonly shapeOf: (node: AnyNode) => Shape<AnyNode>;
}

export function readJavaScript(root: AnyNode): JavaScriptProgram {
  const walk = new Walk();
  // A loop, since a tree may be deeper than the stack. What was entered stands there once more, to be left.
  const waiting: { readonly node: AnyNode; readonly isLeft: boolean }[] = [{ node: root, isLeft: false }];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (at.isLeft) {
      walk.leave(at.node);
      continue;
    }
    walk.enter(at.node);
    walk.enterBlock(at.node);
    if (LEFT.has(at.node.type)) waiting.push({ node: at.node, isLeft: true });
    for (const child of childrenOf(at.node).reverse()) waiting.push({ node: child, isLeft: false });
  }
  return walk;
}

const FUNCTIONS: ReadonlySet<string> = new Set([
  ...['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'],
]);
const LOOPS: ReadonlySet<string> = new Set([
  ...['WhileStatement', 'DoWhileStatement', 'ForStatement', 'ForOfStatement', 'ForInStatement'],
]);

const BRANCHES: ReadonlySet<string> = new Set([
  ...['IfStatement', 'SwitchStatement', 'TryStatement', 'ConditionalExpression', 'LogicalExpression'],
]);
const LEFT: ReadonlySet<string> = new Set([...FUNCTIONS, ...LOOPS, ...BRANCHES]);
/** So that looking outwards takes no longer in code that is nested very deeply. */
const MAX_BLOCKS = 100;

interface Target {
  readonly name: string;
  readonly path: readonly Step[];
  readonly fallback?: AnyNode;
}

class Walk implements JavaScriptProgram {
  readonly events: (Binding<AnyNode> | CallSite<AnyNode>)[] = [];
  readonly functions: OwnFunction<AnyNode>[] = [];
  readonly starred: readonly string[] = [];
  readonly root = newScope(null);
  readonly #indices = new Map<AnyNode, number>();
  readonly #scopes: Scope[] = [this.root];
  readonly #owners: (number | null)[] = [null];
  readonly #loops: LoopKind[][] = [[]];
  readonly #blocks: Block[] = [newBlock()];
  /** Whether each function may have ended before it comes here; the first is for the program. */
  readonly #endings: boolean[] = [false];
  readonly #names: (string | null)[] = [null];

  readonly shapeOf = (node: AnyNode): Shape<AnyNode> =>
    javaScriptShape(node, (found) => this.#indexOf(found));

  enter(node: AnyNode): void {
    const called = callShape(node);
    if (called !== undefined) {
      this.#happen(called, node);
      if (called.callee.type === 'Identifier') this.#recur(called.callee.name);
      if (isExit(called.callee)) this.#end(0);
    }
    switch (node.type) {
      case 'ImportDeclaration':
        for (const specifier of node.specifiers) {
          const module = moduleName(String(node.source.value));
          const imported = specifier.type === 'ImportSpecifier' ? keyOf(specifier.imported, false) : null;
          const name = imported === null || imported === 'default' ? module : `${module}.${imported}`;
          const value = imported === null ? undefined : memberOf(named([canonical(module)]), imported);
          this.#bind(specifier.local.name, value ?? named([canonical(name)]), [], { isDeclared: true });
        }
        return;
      case 'VariableDeclarator':
        for (const { name } of targetsOf(node.id)) this.#scope.declared.add(name);
        if (node.init) this.#assign(node.id, node.init, [], { isDeclared: true });
        return;
      case 'AssignmentExpression':
        this.#assign(node.left, node.right, [], { isAdded: node.operator === '+=' });
        return;
      case 'ForOfStatement': {
        const target = node.left.type === 'VariableDeclaration' ? node.left.declarations[0]?.id : node.left;
        if (target)
          this.#assign(target, node.right, [EACH], { isDeclared: node.left.type === 'VariableDeclaration' });
        this.#loops.at(-1)?.push({ isEndless: false, hasExit: false });
        return;
      }
      case 'WhileStatement':
      case 'DoWhileStatement':
      case 'ForStatement':
        this.#loops.at(-1)?.push({ isEndless: isTrue(node.test), hasExit: false });
        return;
      case 'ForInStatement': {
        const target = node.left.type === 'VariableDeclaration' ? node.left.declarations[0]?.id : node.left;
        if (target)
          this.#assign(target, keysOf(node.right), [EACH], {
            isDeclared: node.left.type === 'VariableDeclaration',
          });
        this.#loops.at(-1)?.push({ isEndless: false, hasExit: false });
        return;
      }
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        this.#function(node);
        return;
      case 'MethodDefinition':
      case 'PropertyDefinition': {
        const name = keyOf(node.key, node.computed);
        if (name !== null && node.value) this.#bind(`.${name}`, node.value, []);
        return;
      }
      case 'ClassDeclaration':
      case 'ClassExpression':
        this.#class(node);
        return;
      case 'ReturnStatement': {
        this.#exit();
        this.#end(this.#endings.length - 1);
        const owner = this.#owners.at(-1);
        if (node.argument && typeof owner === 'number') this.functions[owner]?.returns.push(node.argument);
        return;
      }
      case 'ThrowStatement':
        this.#exit();
        this.#end(this.#endings.length - 1);
        return;
      case 'BreakStatement':
        this.#exit();
        return;
      case 'YieldExpression': {
        this.#exit();
        const owner = this.#owners.at(-1);
        if (node.argument && typeof owner === 'number')
          this.functions[owner]?.yields.push({ node: node.argument, isAll: node.delegate });
        return;
      }
      case 'AwaitExpression':
        this.#exit();
        return;
      default:
    }
  }

  enterBlock(node: AnyNode): void {
    const { type } = node;
    if (FUNCTIONS.has(type)) this.#blocks.push(newBlock());
    else if (LEFT.has(type)) {
      const parent = this.#block;
      const isConditional = parent.isConditional || isCondition(node);
      const isDeep = this.#blocks.length > MAX_BLOCKS;
      this.#blocks.push(isDeep ? OUTSIDE : { parent, isLoop: LOOPS.has(type), isConditional });
    }
  }

  leave(node: AnyNode): void {
    this.#blocks.pop();
    if (BRANCHES.has(node.type)) return;
    if (LOOPS.has(node.type)) {
      this.#loops.at(-1)?.pop();
      return;
    }
    this.#scopes.pop();
    this.#owners.pop();
    this.#loops.pop();
    this.#endings.pop();
    this.#names.pop();
  }

  get #block(): Block {
    return this.#blocks.at(-1) ?? OUTSIDE;
  }

  get #scope(): Scope {
    return this.#scopes.at(-1) ?? this.root;
  }

  #assign(
    target: AnyNode,
    value: AnyNode,
    path: readonly Step[],
    how: { isDeclared?: boolean; isAdded?: boolean },
  ): void {
    const [global] = target.type === 'MemberExpression' && isGlobal(target.object) ? targetsOf(target) : [];
    if (global !== undefined) this.#bindGlobal(global.name.slice(1), value);
    for (const { name, path: own, fallback } of targetsOf(target)) {
      if (fallback !== undefined) this.#bind(name, fallback, [], how);
      this.#bind(name, value, [...path, ...own], how);
    }
  }

  /** `globalThis.name = value`, after which the name alone stands for it, too. */
  #bindGlobal(name: string, value: AnyNode): void {
    const common = { kind: 'binding', name, path: [], isAdded: false } as const;
    this.events.push({ ...common, scope: this.root, block: OUTSIDE, value: globalNamed(name) });
    // What it is given is read where that stands, under a name that no program can write.
    this.events.push({ ...common, scope: this.#scope, block: this.#block, value, name: ` ${name}` });
    const given = { type: 'Identifier', name: ` ${name}`, start: value.start, end: value.end } as AnyNode;
    this.events.push({ ...common, scope: this.root, block: this.#block, value: given });
  }

  #bind(
    name: string,
    value: AnyNode | Value,
    path: readonly Step[],
    { isDeclared = false, isAdded = false }: { isDeclared?: boolean; isAdded?: boolean } = {},
  ): void {
    const scope = this.#scope;
    if (isDeclared && !name.startsWith('.')) scope.declared.add(name);
    this.events.push({ kind: 'binding', scope, block: this.#block, name, value, path, isAdded });
  }

  #indexOf(node: AnyNode): number {
    const known = this.#indices.get(node);
    if (known !== undefined) return known;
    const index = this.#indices.size;
    this.#indices.set(node, index);
    return index;
  }

  #function(node: AnyNode): void {
    if (!('params' in node)) return;
    const index = this.#indexOf(node);
    const value: Value = { ...NOTHING, functions: [index], isOpen: false };
    if (node.type === 'FunctionDeclaration' && node.id)
      this.#bind(node.id.name, value, [], { isDeclared: true });
    const scope = newScope(this.#scope);
    const returns = node.type === 'ArrowFunctionExpression' && node.expression ? [node.body] : [];
    const parameters: OwnFunction<AnyNode>['parameters'][number][] = [];
    this.#scopes.push(scope);
    for (const parameter of node.params) {
      const isRest = parameter.type === 'RestElement';
      const targets = targetsOf(isRest ? parameter.argument : parameter);
      // One that is taken apart has no name of its own, so it gets one that no program can write.
      const [first] = targets;
      const name = targets.length === 1 && first?.path.length === 0 ? first.name : ` ${parameters.length}`;
      parameters.push({ name, isRest });
      scope.declared.add(name);
      for (const target of targets) {
        scope.declared.add(target.name);
        if (target.fallback !== undefined) this.#bind(target.name, target.fallback, []);
        const whole = { type: 'Identifier', name, start: parameter.start, end: parameter.end } as AnyNode;
        if (target.name !== name) this.#bind(target.name, whole, target.path);
      }
    }
    this.functions[index] = { scope, parameters, returns, yields: [], isMethod: false };
    this.#owners.push(index);
    this.#loops.push([{ isEndless: false, hasExit: false }]);
    this.#names.push('id' in node && node.id?.type === 'Identifier' ? node.id.name : null);
    this.#endings.push(false);
  }

  /** `new` of a class calls its constructor. */
  #class(node: AnyNode): void {
    if (node.type !== 'ClassDeclaration' && node.type !== 'ClassExpression') return;
    const constructors = node.body.body.filter(
      (member) => member.type === 'MethodDefinition' && member.kind === 'constructor',
    );
    const functions = constructors.flatMap((member) =>
      member.type === 'MethodDefinition' ? [this.#indexOf(member.value)] : [],
    );
    if (node.id) this.#bind(node.id.name, { ...NOTHING, functions, isOpen: false }, [], { isDeclared: true });
  }

  #exit(): void {
    for (const loop of this.#loops.at(-1) ?? []) loop.hasExit = true;
  }

  /** A function that calls itself, whatever happens, never ends. */
  #recur(callee: string): void {
    const [rounds] = this.#loops.at(-1) ?? [];
    const isSure = this.#block.parent === null && this.#endings.at(-1) === false;
    if (rounds !== undefined && isSure && callee === this.#names.at(-1)) rounds.isEndless = true;
  }

  /** What comes later runs only if this does not. */
  #end(which: number): void {
    if (this.#block.isConditional) this.#endings[which] = true;
  }

  #happen(shape: CallSite<AnyNode>['shape'], node: AnyNode): void {
    const loops = this.#loops.at(-1) ?? [];
    const loop = loops.find(({ isEndless }) => isEndless) ?? loops.at(-1) ?? null;
    const block = this.#block;
    const isGuarded = block.isConditional || this.#endings[0] === true || this.#endings.at(-1) === true;
    this.events.push({ kind: 'call', scope: this.#scope, block, shape, line: lineOf(node), loop, isGuarded });
  }
}

/** Whether what is in it may be left out; a program that asks whether it was started directly was. */
function isCondition(branch: AnyNode): boolean {
  if (branch.type === 'IfStatement' || branch.type === 'ConditionalExpression')
    return !isTrue(branch.test) && !asksWhetherMain(branch.test);
  return branch.type === 'SwitchStatement' || branch.type === 'LogicalExpression';
}

/** `require.main === module` */
function asksWhetherMain(test: AnyNode): boolean {
  const { left } = test.type === 'BinaryExpression' ? test : { left: test };
  return left.type === 'MemberExpression' && keyOf(left.property, left.computed) === 'main';
}

/** `Object.keys(object)`, which is what a loop over its names goes over. */
function keysOf(object: AnyNode): AnyNode {
  const { start, end } = object;
  const [of, name] = ['Object', 'keys'].map((word) => ({ type: 'Identifier', name: word, start, end }));
  const callee = { type: 'MemberExpression', object: of, property: name, computed: false, start, end };
  return { type: 'CallExpression', callee, arguments: [object], start, end } as unknown as AnyNode;
}

function isGlobal(object: AnyNode): boolean {
  return object.type === 'Identifier' && /^(globalThis|global|window)$/.test(object.name);
}

/** `process.exit()` */
function isExit(callee: AnyNode): boolean {
  const name = callee.type === 'MemberExpression' ? keyOf(callee.property, callee.computed) : null;
  return name === 'exit' || name === 'abort' || name === 'reallyExit';
}

function isTrue(test: AnyNode | null | undefined): boolean {
  return !test || (test.type === 'Literal' && Boolean(test.value));
}

function keyOf(key: AnyNode, computed: boolean): string | null {
  if (key.type === 'Identifier' && !computed) return key.name;
  if (key.type === 'PrivateIdentifier') return `#${key.name}`;
  return key.type === 'Literal' && typeof key.value === 'string' ? key.value : null;
}

const MAX_PATH = 6;

/** The names that get something, and which part of it. An attribute is a name that begins with a dot. */
function targetsOf(target: AnyNode, path: readonly Step[] = []): Target[] {
  if (path.length > MAX_PATH) return [];
  switch (target.type) {
    case 'Identifier':
      return [{ name: target.name, path }];
    case 'MemberExpression': {
      const name = keyOf(target.property, target.computed);
      return name === null ? [] : [{ name: `.${name}`, path }];
    }
    case 'AssignmentPattern':
      return targetsOf(target.left, path).map((one) => ({ ...one, fallback: target.right }));
    case 'RestElement':
      return targetsOf(target.argument, path.slice(0, -1));
    case 'ArrayPattern':
      return target.elements.flatMap((element, i) => (element ? targetsOf(element, [...path, i]) : []));
    case 'ObjectPattern':
      return target.properties.flatMap((property) => {
        if (property.type === 'RestElement') return targetsOf(property.argument, path);
        const key = keyOf(property.key, property.computed);
        return key === null ? [] : targetsOf(property.value, [...path, key]);
      });
    default:
      return [];
  }
}
