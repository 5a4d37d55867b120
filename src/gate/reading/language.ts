/** What the evaluator asks of a language, and what it tells of a call. */
import type { LoopKind, Shape } from './shapes.ts';
import type { Value } from './values.ts';
/** A call with what it is given, as far as that is known. */
export interface Call {
  readonly callee: Value;
  /** The object whose method is called. */
  readonly receiver?: Value;
  readonly method?: string;
  readonly args: readonly Value[];
  readonly keywords: ReadonlyMap<string, Value>;
  readonly isNew: boolean;
  /** Where it stands, for a call that the program makes by itself. */
  readonly line: number;
  readonly loop: LoopKind | null;
  /** It may not be made at all. */
  readonly isGuarded: boolean;
  /** What a function gives for these arguments. */
  readonly apply: (callee: Value, args: readonly Value[]) => Value;
}

/** What one language adds. */
export interface Language<N> {
  readonly shapeOf: (node: N) => Shape<N>;
  /** What a name stands for that the program does not give to anything. */
  readonly globalNamed: (name: string) => Value;
  /** Parameters of this name are mostly handed what has this name elsewhere. */
  readonly isAmbient: (name: string) => boolean;
  /** A thing of this name is also what the program gives to it: `exports.run = ...`. */
  readonly isFilled: (name: string) => boolean;
  /** One name for a thing that has several. */
  readonly canonical: (name: string) => string;
  readonly memberOf: (object: Value, property: string) => Value | undefined;
  readonly operationOf: (operator: string, left: Value, right: Value) => Value | undefined;
  /** Another way to write the same call: `f.call(null, x)` is `f(x)`. */
  readonly unwrapped: (call: Call) => Call | undefined;
  readonly resultOf: (call: Call) => Value | undefined;
}

/** The same call, as of a function that is no method. */
export function withoutReceiver({ receiver, method, ...call }: Call): Call {
  return call;
}
