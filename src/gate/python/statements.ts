/** Reads what the statements of a Python program say, from their nodes in the syntax tree. */
import type { SyntaxNode } from '@lezer/common';

export interface Imported {
  /** From the most general to the most precise: `from a import b` may mean `a` or the module `a.b`. */
  readonly modules: readonly string[];
  readonly boundTo: string | null;
  readonly meaning: string;
}

/** The modules of one import statement; relative ones are the program's own. */
export function importsOf(statement: SyntaxNode, source: string): Imported[] {
  const words = leavesOf(statement);
  const importAt = words.findIndex(({ type }) => type.name === 'import');
  const isFrom = words[0]?.type.name === 'from';
  const start = isFrom ? words.slice(1, importAt) : [];
  if (start[0] !== undefined && start[0].type.name !== 'VariableName') return [];
  const from = dotted(start, source);
  return splitAtCommas(words.slice(importAt + 1)).flatMap((item) => {
    const asAt = item.findIndex(({ type }) => type.name === 'as');
    const name = dotted(asAt === -1 ? item : item.slice(0, asAt), source);
    const alias = asAt === -1 ? '' : dotted(item.slice(asAt + 1), source);
    if (isFrom) {
      if (from === '') return [];
      const meaning = name === '' ? from : `${from}.${name}`;
      return [{ modules: [from, meaning], boundTo: alias || name || null, meaning }];
    }
    if (name === '') return [];
    const top = name.split('.')[0] ?? name;
    return [{ modules: [name], boundTo: alias || top, meaning: alias ? name : top }];
  });
}

function leavesOf(node: SyntaxNode): SyntaxNode[] {
  const leaves: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (child.type.isError) leaves.push(...childrenOf(child));
    else if (child.type.name !== 'Comment') leaves.push(child);
  }
  return leaves;
}

export function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

export function splitAtCommas(words: readonly SyntaxNode[]): SyntaxNode[][] {
  const items: SyntaxNode[][] = [[]];
  for (const word of words) {
    if (word.type.name === ',') items.push([]);
    else items.at(-1)?.push(word);
  }
  return items;
}

function dotted(words: readonly SyntaxNode[], source: string): string {
  return words
    .filter(({ type }) => type.name === 'VariableName')
    .map((word) => nameOf(word, source))
    .join('.');
}

/** Python compares identifiers in this form, so a full-width `ｏs` is `os`. */
export function nameOf(node: SyntaxNode, source: string): string {
  return source.slice(node.from, node.to).normalize('NFKC');
}

export interface Assignment {
  readonly name: string;
  readonly value: SyntaxNode;
}

/** `a = b = value` and, side by side, `a, b = x, y`. */
export function assignmentsOf(node: SyntaxNode, source: string): Assignment[] {
  const sides: SyntaxNode[][] = [[]];
  for (const child of childrenOf(node)) {
    if (child.type.name === 'AssignOp') sides.push([]);
    else if (!SKIPPED_IN_ASSIGNMENTS.has(child.type.name)) sides.at(-1)?.push(child);
  }
  const values = sides.pop() ?? [];
  return sides.flatMap((targets) =>
    targets.flatMap((target, index) => {
      const value = targets.length === values.length ? values[index] : undefined;
      if (target.type.name !== 'VariableName' || value === undefined) return [];
      return [{ name: nameOf(target, source), value }];
    }),
  );
}

const SKIPPED_IN_ASSIGNMENTS: ReadonlySet<string> = new Set([',', 'TypeDef', 'Comment']);

export function subscriptOf(member: SyntaxNode): SyntaxNode | null {
  return member.getChild('[')?.nextSibling ?? null;
}

export function withPlainLineEnds(code: string): string {
  const text = code.startsWith('\uFEFF') ? code.slice(1) : code;
  return text.includes('\r') ? text.replaceAll('\r\n', '\n').replaceAll('\r', '\n') : text;
}

export function lineFinder(source: string): (position: number) => number {
  let line = 1;
  let seenUpTo = 0;
  return (position) => {
    // Nodes come in the order of the source, so one pass over it is enough.
    for (; seenUpTo < position; seenUpTo++) if (source.charCodeAt(seenUpTo) === 10) line++;
    return line;
  };
}
