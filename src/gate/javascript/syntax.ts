/** Reads JavaScript into a syntax tree, and the tree without the stack. */
import { type AnyNode, type Node, parse } from 'acorn';

/** Null where no interpreter accepts the code, as a module or as a script of any kind. */
export function parseProgram(code: string): AnyNode | null {
  for (const sourceType of ['module', 'script', 'commonjs'] as const) {
    try {
      return parse(code, {
        sourceType,
        ecmaVersion: 'latest',
        locations: true,
        allowHashBang: true,
        // acorn does not let this be combined with `commonjs`, where it holds anyway.
        ...(sourceType === 'commonjs' ? {} : { allowReturnOutsideFunction: true }),
        allowAwaitOutsideFunction: sourceType !== 'commonjs',
      });
    } catch (error) {
      // RangeError: nested too deeply for the stack.
      if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    }
  }
  return null;
}

/** All nodes in the order of the source; a loop, since a tree may be deeper than the stack. */
export function allNodes(root: AnyNode): AnyNode[] {
  const nodes: AnyNode[] = [];
  const waiting: AnyNode[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    nodes.push(node);
    // Not spread: a list may be longer than a call's arguments can be.
    for (const child of childrenOf(node).reverse()) waiting.push(child);
  }
  return nodes.sort((a, b) => a.start - b.start);
}

export function childrenOf(node: AnyNode): AnyNode[] {
  const children: AnyNode[] = [];
  for (const value of Object.values(node) as unknown[]) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) children.push(child);
    }
  }
  return children;
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

export function lineOf(node: Node): number {
  return node.loc?.start.line ?? 1;
}

/** `node:fs` is `fs`. */
export function moduleName(text: string): string {
  return text.startsWith('node:') ? text.slice('node:'.length) : text;
}
