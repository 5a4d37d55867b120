/** Walks a Python program once for all that gives names a meaning and all that is called. */
import type { SyntaxNode, Tree } from '@lezer/common';
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
import { canonical, memberOf } from './names.ts';
import { argumentsOf, callShape, loopsOf, meaningful, pythonShape, targetsOf } from './shapes.ts';
import { assignmentsOf, importsOf, lineFinder, nameOf } from './statements.ts';

export interface PythonProgram extends Program<SyntaxNode> {
  readonly shapeOf: (node: SyntaxNode) => Shape<SyntaxNode>;
}

export function readPython(source: string, tree: Tree): PythonProgram {
  const walk = new Walk(source);
  tree.iterate({
    enter: (at) => (ENTERED.has(at.type.name) ? walk.enter(at.node) : undefined),
    leave: (at) => (at.type.name in LEFT ? walk.leave(at.type.name) : undefined),
  });
  return walk;
}

const LEFT: Readonly<Record<string, 'function' | 'class' | 'loop' | 'branch'>> = {
  FunctionDefinition: 'function',
  LambdaExpression: 'function',
  ClassDefinition: 'class',
  WhileStatement: 'loop',
  ForStatement: 'loop',
  IfStatement: 'branch',
  TryStatement: 'branch',
  MatchStatement: 'branch',
};

const ENTERED: ReadonlySet<string> = new Set([
  ...Object.keys(LEFT),
  ...['ImportStatement', 'AssignStatement', 'NamedExpression', 'UpdateStatement', 'WithStatement'],
  ...['ArrayComprehensionExpression', 'ComprehensionExpression', 'SetComprehensionExpression'],
  ...['DictionaryComprehensionExpression', 'ArgList', 'ReturnStatement', 'ScopeStatement'],
  ...[
    'BinaryExpression',
    'CallExpression',
    'Decorator',
    'BreakStatement',
    'RaiseStatement',
    'YieldExpression',
    'YieldStatement',
    'AwaitExpression',
  ],
]);

const REPEATED: ReadonlySet<string> = new Set(['String', 'ArrayExpression', 'ParenthesizedExpression']);

/** Calls that end a loop's round when somebody else wants it. */
const WAITS: ReadonlySet<string> = new Set([
  ...['sleep', 'accept', 'recv', 'input', 'get', 'wait', 'join', 'read', 'readline', 'exit', 'poll'],
]);

/** What gives things to a loop for ever. */
const ENDLESS = /^((itertools\.)?(count|cycle)\(|iter\(int, *1\))/;

class Walk implements PythonProgram {
  readonly events: (Binding<SyntaxNode> | CallSite<SyntaxNode>)[] = [];
  readonly functions: OwnFunction<SyntaxNode>[] = [];
  readonly starred: string[] = [];
  readonly root = newScope(null);
  readonly #source: string;
  readonly #lineAt: (position: number) => number;
  readonly #indices = new Map<string, number>();
  #scopes: Scope[] = [this.root];
  /** For each scope the names that belong further out, and where that begins. */
  readonly #outer = new Map<Scope, Map<string, Scope>>();
  #owners: (number | null)[] = [null];
  #loops: LoopKind[][] = [[]];
  readonly #blocks: Block[] = [newBlock()];
  /** Whether each function may have ended before it comes here; the first is for the program. */
  readonly #endings: boolean[] = [false];
  readonly #names: (string | null)[] = [null];
  /** Whether the innermost of functions and classes is a class. */
  #inClass: boolean[] = [false];

  constructor(source: string) {
    this.#source = source;
    this.#lineAt = lineFinder(source);
  }

  readonly shapeOf = (node: SyntaxNode): Shape<SyntaxNode> =>
    pythonShape(node, this.#source, (found) => this.#indexOf(found));

  enter(node: SyntaxNode): void {
    switch (node.type.name) {
      case 'ImportStatement':
        this.#import(node);
        this.#happen({ kind: 'call', callee: node, args: [], isNew: false }, node);
        return;
      case 'AssignStatement':
      case 'NamedExpression':
        this.#assign(node);
        return;
      case 'UpdateStatement': {
        const [target, operator, value] = meaningful(node);
        if (target === undefined || value === undefined) return;
        const isAdded = this.#text(operator) === '+=';
        for (const { name } of targetsOf([target], this.#source)) this.#bind(name, value, [], isAdded);
        return;
      }
      case 'WithStatement':
        this.#with(meaningful(node));
        return;
      case 'ForStatement':
        this.#iterate(meaningful(node));
        this.#enterBlock(node);
        this.#loops.at(-1)?.push({ isEndless: ENDLESS.test(this.#textOver(node)), hasExit: false });
        return;
      case 'WhileStatement': {
        const condition = node.firstChild?.nextSibling;
        const isEndless = /^(True|[1-9]\d*)$/.test(this.#text(condition).replace(/[()\s]/g, ''));
        this.#enterBlock(node);
        this.#loops.at(-1)?.push({ isEndless, hasExit: false });
        return;
      }
      case 'IfStatement':
      case 'TryStatement':
      case 'MatchStatement':
        this.#enterBlock(node);
        return;
      case 'FunctionDefinition':
      case 'LambdaExpression':
        this.#function(node);
        return;
      case 'ClassDefinition':
        this.#class(node);
        return;
      case 'ReturnStatement':
        this.#return(node);
        return;
      case 'ScopeStatement':
        this.#reachOut(node);
        return;
      case 'CallExpression':
        this.#call(node);
        return;
      case 'BinaryExpression':
        this.#multiply(node);
        return;
      case 'Decorator':
        this.#decorator(node);
        return;
      case 'RaiseStatement':
        this.#exit();
        this.#end(this.#endings.length - 1);
        return;
      case 'BreakStatement':
      case 'YieldExpression':
      case 'YieldStatement':
        this.#yield(node);
        return;
      case 'AwaitExpression':
        this.#exit();
        return;
      default:
        this.#iterate(meaningful(node));
    }
  }

  leave(type: string): void {
    switch (LEFT[type]) {
      case 'function':
        this.#scopes.pop();
        this.#blocks.pop();
        this.#owners.pop();
        this.#loops.pop();
        this.#endings.pop();
        this.#names.pop();
        this.#inClass.pop();
        return;
      case 'class':
        this.#inClass.pop();
        return;
      case 'loop':
        this.#loops.at(-1)?.pop();
        this.#blocks.pop();
        return;
      case 'branch':
        this.#blocks.pop();
        return;
      case undefined:
    }
  }

  get #block(): Block {
    return this.#blocks.at(-1) ?? OUTSIDE;
  }

  #enterBlock(node: SyntaxNode): void {
    const parent = this.#block;
    const isConditional = parent.isConditional || this.#isCondition(node);
    this.#blocks.push({ parent, isLoop: LEFT[node.type.name] === 'loop', isConditional });
  }

  /** Whether what is in it may be left out; a program that asks whether it was started directly was. */
  #isCondition(branch: SyntaxNode): boolean {
    if (branch.type.name === 'MatchStatement') return true;
    if (branch.type.name !== 'IfStatement') return false;
    return !/^(True|[1-9]\d*|__name__.*)$/s.test(this.#text(branch.firstChild?.nextSibling));
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

  get #scope(): Scope {
    return this.#scopes.at(-1) ?? this.root;
  }

  #text(node: SyntaxNode | null | undefined): string {
    return node ? this.#source.slice(node.from, node.to) : '';
  }

  /** What a loop goes over. */
  #textOver(node: SyntaxNode): string {
    const children = meaningful(node);
    return this.#text(children[children.findIndex(({ type }) => type.name === 'in') + 1]).slice(0, 40);
  }

  #bind(name: string, value: SyntaxNode | Value, path: readonly Step[], isAdded = false): void {
    const isAttribute = name.startsWith('.');
    const outer = this.#outer.get(this.#scope)?.get(name);
    const scope = outer ?? this.#scope;
    // What a class holds is reached as an attribute.
    if (this.#inClass.at(-1) && !isAttribute) this.#bind(`.${name}`, value, path, isAdded);
    if (!isAdded && !isAttribute && outer === undefined) scope.declared.add(name);
    this.events.push({ kind: 'binding', scope, block: this.#block, name, value, path, isAdded });
  }

  /** `global a, b` or `nonlocal a, b`: from here on these names are those of a scope further out. */
  #reachOut(node: SyntaxNode): void {
    const outer = this.#text(node.firstChild) === 'global' ? this.root : this.#scope.parent;
    if (outer === null || this.#scope === this.root) return;
    const names = this.#outer.get(this.#scope) ?? new Map<string, Scope>();
    this.#outer.set(this.#scope, names);
    for (const name of node.getChildren('VariableName')) {
      names.set(nameOf(name, this.#source), outer);
      this.#scope.declared.delete(nameOf(name, this.#source));
    }
  }

  #import(node: SyntaxNode): void {
    for (const { boundTo, meaning } of importsOf(node, this.#source)) {
      if (boundTo === null) this.starred.push(meaning);
      else this.#bind(boundTo, namedIn(canonical(meaning)), []);
    }
  }

  #assign(node: SyntaxNode): void {
    const sides: SyntaxNode[][] = [[]];
    for (const child of meaningful(node)) {
      if (child.type.name === 'AssignOp') sides.push([]);
      else if (child.type.name !== 'TypeDef') sides.at(-1)?.push(child);
    }
    const values = sides.pop() ?? [];
    const [value] = values;
    if (value === undefined) return;
    if (values.length > 1) {
      for (const { name, value: one } of assignmentsOf(node, this.#source)) this.#bind(name, one, []);
      return;
    }
    for (const side of sides) {
      for (const { name, path } of targetsOf(side, this.#source)) this.#bind(name, value, path);
    }
  }

  #with(children: readonly SyntaxNode[]): void {
    for (const [i, child] of children.entries()) {
      const [value, target] = [children[i - 1], children[i + 1]];
      if (child.type.name !== 'as' || value === undefined || target === undefined) continue;
      const given = value.type.name === 'ParenthesizedExpression' ? meaningful(value)[1] : value;
      // The grammar takes a list of several between brackets for a single expression.
      const isOpened = (value.type.name === '(' ? undefined : given) ?? value;
      for (const { name, path } of targetsOf([target], this.#source)) this.#bind(name, isOpened, path);
    }
  }

  #iterate(children: readonly SyntaxNode[]): void {
    for (const { targets, over } of loopsOf(children, this.#source)) {
      for (const { name, path } of targets) this.#bind(name, over, [EACH, ...path]);
    }
  }

  #indexOf(node: SyntaxNode): number {
    const key = `${node.from} ${node.to}`;
    const known = this.#indices.get(key);
    if (known !== undefined) return known;
    const index = this.#indices.size;
    this.#indices.set(key, index);
    return index;
  }

  #function(node: SyntaxNode): void {
    const index = this.#indexOf(node);
    const name = node.type.name === 'FunctionDefinition' ? node.getChild('VariableName') : null;
    const isMethod = this.#inClass.at(-1) === true;
    if (name !== null) this.#bindFunction(nameOf(name, this.#source), index, isMethod);
    const scope = newScope(this.#scope);
    const parameters = this.#parametersOf(node, scope);
    const isBound = isMethod && !this.#isStatic(node);
    this.functions[index] = {
      ...{ scope, returns: [], yields: [], isMethod },
      parameters: isBound ? parameters.slice(1) : parameters,
    };
    this.#scopes.push(scope);
    this.#blocks.push(newBlock());
    this.#owners.push(index);
    this.#loops.push([{ isEndless: false, hasExit: false }]);
    this.#names.push(name === null || isMethod ? null : nameOf(name, this.#source));
    this.#endings.push(false);
    this.#inClass.push(false);
    if (node.type.name === 'LambdaExpression' && node.lastChild !== null)
      this.functions[index]?.returns.push(node.lastChild);
  }

  #bindFunction(name: string, index: number, isMethod: boolean): void {
    const value: Value = { ...NOTHING, functions: [index], isOpen: false };
    const outer = this.#outer.get(this.#scope)?.get(name);
    const scope = isMethod ? this.root : (outer ?? this.#scope);
    const own = isMethod ? `.${name}` : name;
    if (isMethod || outer === undefined) scope.declared.add(own);
    this.events.push({
      kind: 'binding',
      scope,
      block: this.#block,
      name: own,
      value,
      path: [],
      isAdded: false,
    });
  }

  #isStatic(node: SyntaxNode): boolean {
    return (node.parent?.getChildren('Decorator') ?? []).some((one) => /staticmethod/.test(this.#text(one)));
  }

  #parametersOf(node: SyntaxNode, scope: Scope): { name: string; isRest: boolean }[] {
    const list = node.getChild('ParamList');
    if (list === null) return [];
    const parameters: { name: string; isRest: boolean }[] = [];
    let isRest = false;
    const children = meaningful(list).filter(({ type }) => type.name !== 'TypeDef');
    for (const [i, child] of children.entries()) {
      if (child.type.name === '*') isRest = true;
      if (child.type.name === ',') isRest = false;
      if (child.type.name !== 'VariableName' || children[i - 1]?.type.name === 'AssignOp') continue;
      const name = nameOf(child, this.#source);
      scope.declared.add(name);
      parameters.push({ name, isRest });
      const value = children[i + 1]?.type.name === 'AssignOp' ? children[i + 2] : undefined;
      if (value !== undefined)
        this.events.push({ kind: 'binding', scope, block: OUTSIDE, name, value, path: [], isAdded: false });
    }
    return parameters;
  }

  #class(node: SyntaxNode): void {
    const name = node.getChild('VariableName');
    const body = node.getChild('Body');
    const methods = (body?.getChildren('FunctionDefinition') ?? []).filter(
      (method) => this.#text(method.getChild('VariableName')) === '__init__',
    );
    if (name !== null) {
      const functions = methods.map((method) => this.#indexOf(method));
      this.#bind(nameOf(name, this.#source), { ...NOTHING, functions, isOpen: false }, []);
    }
    this.#inClass.push(true);
  }

  #return(node: SyntaxNode): void {
    this.#exit();
    this.#end(this.#endings.length - 1);
    const value = node.firstChild?.nextSibling;
    const owner = this.#owners.at(-1);
    const isList = node.getChild(',') !== null;
    if (value && typeof owner === 'number') this.functions[owner]?.returns.push(isList ? node : value);
  }

  #yield(node: SyntaxNode): void {
    this.#exit();
    const [, second, third] = meaningful(node);
    const isAll = second?.type.name === 'from';
    const value = isAll ? third : second;
    const owner = this.#owners.at(-1);
    const isList = node.getChild(',') !== null;
    if (value !== undefined && typeof owner === 'number')
      this.functions[owner]?.yields.push({ node: isList ? node : value, isAll });
  }

  #exit(): void {
    for (const loop of this.#loops.at(-1) ?? []) loop.hasExit = true;
  }

  #call(node: SyntaxNode): void {
    const shape = callShape(node, this.#source);
    if (shape.kind !== 'call') return;
    const named = shape.callee.lastChild ?? shape.callee;
    if (WAITS.has(this.#text(named))) this.#exit();
    this.#happen(shape, node);
    if (node.parent?.type.name === 'ExpressionStatement') this.#recur(this.#text(shape.callee));
    if (/^(_?exit|quit|abort)$/.test(this.#text(named))) this.#end(0);
  }

  /** A text or a list, repeated: as large as a call can make it. */
  #multiply(node: SyntaxNode): void {
    const [left, operator, right] = meaningful(node);
    if (left === undefined || right === undefined || this.#text(operator) !== '*' || operator === undefined)
      return;
    if (![left, right].some(({ type }) => REPEATED.has(type.name))) return;
    const args = [{ node: left }, { node: right }];
    this.#happen({ kind: 'call', callee: operator, args, isNew: false }, node);
  }

  #happen(shape: CallSite<SyntaxNode>['shape'], node: SyntaxNode): void {
    const loops = this.#loops.at(-1) ?? [];
    const loop = loops.find(({ isEndless }) => isEndless) ?? loops.at(-1) ?? null;
    const block = this.#block;
    const isGuarded = block.isConditional || this.#endings[0] === true || this.#endings.at(-1) === true;
    const line = this.#lineAt(node.from);
    this.events.push({ kind: 'call', scope: this.#scope, block, shape, line, loop, isGuarded });
  }

  /** A decorator is called with what it decorates, and a call of its own before that. */
  #decorator(node: SyntaxNode): void {
    const list = node.getChild('ArgList');
    const names = node.getChildren('VariableName');
    const callee = names[0];
    if (callee === undefined) return;
    const isPlain = names.length === 1;
    if (!isPlain) return;
    const args = list === null ? [] : argumentsOf(meaningful(list).slice(1), this.#source);
    this.#happen({ kind: 'call', callee, args, isNew: false }, node);
  }
}

/** What a module holds under this name: `from os import environ`. */
function namedIn(name: string): Value {
  const dot = name.lastIndexOf('.');
  const value = dot < 0 ? undefined : memberOf(named([name.slice(0, dot)]), name.slice(dot + 1));
  return value ?? named([name]);
}
