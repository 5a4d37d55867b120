/** What the syntax trees of the languages have in common: enough to tell what an expression may be. */
import type { Value } from './values.ts';
import type { Variable } from './variable.ts';

export interface Argument<N> {
  readonly node: N;
  readonly keyword?: string;
  /** `*list`, `...list`; with `**table` its entries are keywords. */
  readonly spread?: 'list' | 'table';
}

/** One step of taking a value apart: an attribute, a position, or each element. */
export type Step = string | number | typeof EACH;
export const EACH: unique symbol = Symbol('each');

export interface Loop<N> {
  readonly targets: readonly { readonly name: string; readonly path: readonly Step[] }[];
  readonly over: N;
}

/** An expression, one level deep. */
export type Shape<N> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'member'; readonly object: N; readonly property: string | N }
  | {
      readonly kind: 'slice';
      readonly object: N;
      readonly from: N | null;
      readonly to: N | null;
      readonly step: N | null;
    }
  | {
      readonly kind: 'call';
      readonly callee: N;
      readonly args: readonly Argument<N>[];
      readonly isNew: boolean;
    }
  | { readonly kind: 'sum'; readonly parts: readonly N[] }
  | { readonly kind: 'operation'; readonly operator: string; readonly left: N; readonly right: N }
  | { readonly kind: 'text'; readonly parts: readonly (string | N)[]; readonly isDisguised: boolean }
  | { readonly kind: 'list'; readonly items: readonly Argument<N>[] }
  | {
      readonly kind: 'table';
      readonly entries: readonly { readonly key: string | N | null; readonly value: N }[];
    }
  | { readonly kind: 'any'; readonly of: readonly N[] }
  /** The function that begins here. */
  | { readonly kind: 'function'; readonly index: number }
  | { readonly kind: 'each'; readonly of: N; readonly loops: readonly Loop<N>[] }
  | { readonly kind: 'unknown' };

/** A place where code begins to have names of its own. */
export interface Scope {
  readonly parent: Scope | null;
  readonly declared: Set<string>;
  readonly values: Map<string, Variable>;
}

export interface OwnFunction<N> {
  readonly scope: Scope;
  readonly parameters: readonly { readonly name: string; readonly isRest: boolean }[];
  readonly returns: N[];
  /** What it gives one after the other; with `isAll`, all that is in it. */
  readonly yields: { readonly node: N; readonly isAll: boolean }[];
  /** The first parameter is the object. */
  readonly isMethod: boolean;
}

/** A part of the code that may run or not, or again and again. */
export interface Block {
  readonly parent: Block | null;
  readonly isLoop: boolean;
  /** Whether it runs depends on a condition, in the function where it stands. */
  readonly isConditional: boolean;
}

/** Of which it is not known when it runs. */
export const OUTSIDE: Block = { parent: null, isLoop: true, isConditional: true };

/** Runs whenever its function does. */
export function newBlock(): Block {
  return { parent: null, isLoop: false, isConditional: false };
}

export interface Binding<N> {
  readonly kind: 'binding';
  readonly scope: Scope;
  readonly name: string;
  readonly value: N | Value;
  readonly path: readonly Step[];
  readonly block: Block;
  /** `+=` */
  readonly isAdded: boolean;
}

export interface CallSite<N> {
  readonly kind: 'call';
  readonly scope: Scope;
  /** The call itself, or a decorator or a tagged template, which are calls in disguise. */
  readonly shape: Extract<Shape<N>, { kind: 'call' }>;
  readonly line: number;
  readonly block: Block;
  /** Whether it stands in a loop or in a function that may call itself, and whether that one ends. */
  readonly loop: LoopKind | null;
  /** It stands behind a condition, or behind something that may have ended the program or the function. */
  readonly isGuarded: boolean;
}

export interface LoopKind {
  /** Set for the rounds of a function that calls itself, once it does. */
  isEndless: boolean;
  /** Something in it may end it or waits. */
  hasExit: boolean;
}

/** All that happens in a program, in the order of its source. */
export interface Program<N> {
  readonly events: readonly (Binding<N> | CallSite<N>)[];
  readonly functions: readonly OwnFunction<N>[];
  /** Modules of which everything was imported by its name. */
  readonly starred: readonly string[];
  readonly root: Scope;
}

export function newScope(parent: Scope | null): Scope {
  return { parent, declared: new Set(), values: new Map() };
}
