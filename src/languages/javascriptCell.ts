/**
 * Rewrites one cell of a JavaScript context so that a script can say it: declarations at the top become properties of
 * the global object, which the next cell sees and may declare again; `await` at the top, static imports, and the value
 * of the last expression work. Pure; what a cell *does* is decided by the interpreter inside alone.
 */
import {
  type AnyNode,
  type ClassDeclaration,
  type FunctionDeclaration,
  type ImportDeclaration,
  type Options,
  type Pattern,
  type Program,
  parse,
  type VariableDeclaration,
} from 'acorn';

export interface JavaScriptCell {
  readonly code: string;
  /** How many characters stand before the cell's own first line. */
  readonly offset: number;
  /** The code gives a promise of `{ value }`. */
  readonly isAsync: boolean;
  /** The cell ends with an expression, whose value the code gives. */
  readonly wantsValue: boolean;
  /** What the cell declares at its top. */
  readonly names: readonly string[];
}

const ASYNC_HEAD = '(async () => { ';

/** A cell that cannot be parsed comes back as it is: the interpreter inside says what is wrong with it. */
export function rewriteCell(code: string): JavaScriptCell {
  const asIs = { code, offset: 0, isAsync: false, wantsValue: true, names: [] };
  try {
    const object = parseObject(code);
    const source = object ?? code;
    const program = parseCell(source);
    if (program === undefined) return asIs;
    return rewrite(source, program, object === undefined ? 0 : 1);
  } catch (error) {
    // RangeError: nested too deeply for our stack.
    if (error instanceof RangeError) return asIs;
    throw error;
  }
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function rewrite(source: string, program: Program, added: number): JavaScriptCell {
  const nodes = ownNodes(program);
  const isAsync = nodes.some(isWaiting);
  const last = program.body.at(-1);
  const wantsValue = last?.type === 'ExpressionStatement' && !('directive' in last && last.directive);
  const edits: Edit[] = [
    ...dynamicImports(program),
    ...program.body.flatMap((node): Edit[] => {
      if (node.type === 'ImportDeclaration') return [importEdit(node, source)];
      if (node.type === 'ClassDeclaration') return classEdits(node);
      return [];
    }),
    ...nodes.flatMap((node) =>
      node.type === 'VariableDeclaration' && becomesGlobal(node, program)
        ? isAsync
          ? assignmentEdits(node, source, nodes)
          : [{ start: node.start, end: node.start + node.kind.length, text: 'var'.padEnd(node.kind.length) }]
        : [],
    ),
  ];
  const names = namesOf(program, nodes);
  if (!isAsync) return { code: apply(source, edits), offset: added, isAsync, wantsValue, names };
  if (wantsValue && last?.type === 'ExpressionStatement') {
    edits.push({ start: last.expression.start, end: last.expression.start, text: 'return { value: (' });
    edits.push({ start: last.expression.end, end: last.expression.end, text: ') }' });
  }
  const functions = program.body
    .filter((node): node is FunctionDeclaration => node.type === 'FunctionDeclaration')
    .map(({ id }) => `globalThis.${id.name} = ${id.name}; `);
  const directive = program.body[0];
  const strict =
    directive?.type === 'ExpressionStatement' && directive.directive === 'use strict' ? "'use strict'; " : '';
  const head = `${ASYNC_HEAD}${strict}${functions.join('')}`;
  // On a line of its own: the last one may be a comment.
  return {
    code: `${head}${apply(source, edits)}\n})()`,
    offset: head.length + added,
    isAsync,
    wantsValue,
    names,
  };
}

const OPTIONS: Options = {
  ecmaVersion: 'latest',
  sourceType: 'script',
  allowAwaitOutsideFunction: true,
  allowImportExportEverywhere: true,
  allowHashBang: true,
};

function parseCell(code: string): Program | undefined {
  try {
    return parse(code, OPTIONS);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** `{ a: 1 }` is an object to whoever types it, as at Node's own prompt. */
function parseObject(code: string): string | undefined {
  if (!/^\s*\{/.test(code) || /;\s*$/.test(code)) return undefined;
  const wrapped = `(${code}\n)`;
  return parseCell(wrapped) === undefined ? undefined : wrapped;
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

/** Every node that runs as part of the cell itself, and not as part of a function or a class field in it. */
function ownNodes(program: Program): AnyNode[] {
  const nodes: AnyNode[] = [];
  const waiting: AnyNode[] = [program];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    nodes.push(node);
    if (FUNCTIONS.has(node.type) || node.type === 'StaticBlock') continue;
    // A computed key runs here, the rest does not.
    if (node.type === 'PropertyDefinition' || node.type === 'MethodDefinition') {
      if (node.computed) waiting.push(node.key);
      continue;
    }
    waiting.push(...childrenOf(node));
  }
  return nodes;
}

function childrenOf(node: AnyNode): AnyNode[] {
  return Object.values(node)
    .flat()
    .filter(
      (value): value is AnyNode =>
        typeof value === 'object' && value !== null && 'type' in value && 'start' in value,
    );
}

function isWaiting(node: AnyNode): boolean {
  return (
    node.type === 'AwaitExpression' ||
    node.type === 'ImportDeclaration' ||
    (node.type === 'ForOfStatement' && node.await)
  );
}

/** `var` wherever it stands; `let` and `const` only at the top, where no block ends them. */
function becomesGlobal(node: VariableDeclaration, program: Program): boolean {
  return node.kind === 'var' || program.body.some((statement) => statement === node);
}

/** `const { a } = b, c;` becomes `{(({ a } = b), (c = void 0));}`: assignments, where `await` may stand in between. */
function assignmentEdits(node: VariableDeclaration, source: string, nodes: readonly AnyNode[]): Edit[] {
  const first = node.declarations[0];
  if (first === undefined) return [];
  const keyword = { start: node.start, end: first.start };
  const isHead = nodes.some(
    (parent) =>
      (parent.type === 'ForStatement' && parent.init === node) ||
      ((parent.type === 'ForInStatement' || parent.type === 'ForOfStatement') && parent.left === node),
  );
  if (isHead) return [{ ...keyword, text: '' }];
  const inner = node.declarations.flatMap(({ id, init, start, end }): Edit[] => {
    if (init) {
      return [
        { start, end: start, text: '(' },
        { start: end, end, text: ')' },
      ];
    }
    // A `var` without a value keeps the one that it has.
    const text = node.kind === 'var' ? 'void 0' : `(${source.slice(id.start, id.end)} = void 0)`;
    return [{ start, end, text }];
  });
  const end = node.declarations.at(-1)?.end ?? node.end;
  return [{ ...keyword, text: '{(' }, ...inner, { start: end, end: node.end, text: ');}' }];
}

function classEdits({ id, start, end }: ClassDeclaration): Edit[] {
  return [
    { start, end: start, text: `{(${id.name} = ` },
    { start: end, end, text: ');}' },
  ];
}

function importEdit(node: ImportDeclaration, source: string): Edit {
  const named = node.specifiers.filter((specifier) => specifier.type === 'ImportSpecifier');
  const wanted = named.map(({ imported }) =>
    imported.type === 'Identifier' ? imported.name : String(imported.value),
  );
  const hasDefault = node.specifiers.some(({ type }) => type === 'ImportDefaultSpecifier');
  const attributes = node.attributes ?? [];
  const options =
    attributes.length === 0
      ? 'undefined'
      : `{ with: { ${attributes.map(({ start, end }) => source.slice(start, end)).join(', ')} } }`;
  const names = JSON.stringify([...(hasDefault ? ['default'] : []), ...wanted]);
  const module = `await __glovebox_import(${node.source.raw}, ${options}, ${names})`;
  const assignments = node.specifiers.map((specifier) => {
    const { name } = specifier.local;
    if (specifier.type === 'ImportNamespaceSpecifier') return `${name} = __glovebox_module`;
    const imported =
      specifier.type === 'ImportDefaultSpecifier'
        ? 'default'
        : specifier.imported.type === 'Identifier'
          ? specifier.imported.name
          : String(specifier.imported.value);
    return `${name} = __glovebox_module[${JSON.stringify(imported)}]`;
  });
  const lines = source.slice(node.start, node.end).replace(/[^\n]/g, '');
  return {
    start: node.start,
    end: node.end,
    text: `{ const __glovebox_module = ${module}; ${assignments.join('; ')}; }${lines}`,
  };
}

/** A script that was compiled by `vm` cannot import by itself. */
function dynamicImports(program: Program): Edit[] {
  const edits: Edit[] = [];
  const waiting: AnyNode[] = [program];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.type === 'ImportExpression') {
      edits.push({ start: node.start, end: node.start + 'import'.length, text: '__glovebox_import' });
    }
    waiting.push(...childrenOf(node));
  }
  return edits;
}

function namesOf(program: Program, nodes: readonly AnyNode[]): string[] {
  const names = nodes.flatMap((node): string[] => {
    if (node.type !== 'VariableDeclaration' || !becomesGlobal(node, program)) return [];
    return node.declarations.flatMap(({ id }) => namesIn(id));
  });
  const declared = program.body.flatMap((node): string[] => {
    if (node.type === 'ClassDeclaration' || node.type === 'FunctionDeclaration') return [node.id.name];
    if (node.type === 'ImportDeclaration') return node.specifiers.map(({ local }) => local.name);
    return [];
  });
  return [...new Set([...names, ...declared])];
}

function namesIn(pattern: Pattern): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) =>
        namesIn(property.type === 'RestElement' ? property.argument : property.value),
      );
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element === null ? [] : namesIn(element)));
    case 'AssignmentPattern':
      return namesIn(pattern.left);
    case 'RestElement':
      return namesIn(pattern.argument);
    default:
      return [];
  }
}

/** Of edits at the same place, what ends there comes before what begins there. */
function apply(source: string, edits: readonly Edit[]): string {
  const ordered = edits
    .map((edit, order) => ({ ...edit, order }))
    .sort((a, b) => a.start - b.start || a.end - b.end || a.order - b.order);
  let text = '';
  let at = 0;
  for (const edit of ordered) {
    text += source.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return text + source.slice(at);
}
