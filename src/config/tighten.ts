/**
 * How a project file, which an agent may have written, takes part: each function gets what holds without it
 * and what it asks for, and gives back a value that is never looser than the first.
 */
import { isAtLeast } from '../policy/isolation.ts';
import { RUNTIME_ISOLATION, type RuntimeName } from './runtimeNames.ts';

/** `outer` is absent where nothing is asked for without the project file. */
export type Tighten<Value> = (outer: Value | undefined, inner: Value) => Value;

/** An absent number is the loosest. */
export const smaller: Tighten<number> = (outer, inner) => Math.min(outer ?? Number.POSITIVE_INFINITY, inner);

/** Once off, always off. */
export const offWins: Tighten<boolean> = (outer, inner) => outer !== false && inner;

/** Every entry of both. */
export const union: Tighten<readonly string[]> = (outer, inner) =>
  Object.freeze([...new Set([...(outer ?? []), ...inner])]);

/** Only what stands in both, which may be nothing. */
export function intersection<Item>(
  outer: readonly Item[] | undefined,
  inner: readonly Item[],
): readonly Item[] {
  return Object.freeze(outer === undefined ? [...inner] : outer.filter((item) => inner.includes(item)));
}

/** The later of two words in a list that goes from loosest to strictest. */
export function laterOf<Word>(loosestFirst: readonly Word[]): Tighten<Word> {
  return (outer, inner) =>
    outer !== undefined && loosestFirst.indexOf(outer) > loosestFirst.indexOf(inner) ? outer : inner;
}

/** Another runtime only when its wall is stronger. */
export const strongerRuntime: Tighten<RuntimeName> = (outer, inner) =>
  outer === undefined || !isAtLeast(RUNTIME_ISOLATION[outer], RUNTIME_ISOLATION[inner]) ? inner : outer;
