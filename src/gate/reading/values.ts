/** What an expression may be, as far as the code itself says it: things by their dotted names, texts, lists, functions. */

/** Stands in a text for the part that only the running program knows. */
export const UNKNOWN = '\0';

/** Where something comes from, of which its text may say nothing. */
export type Origin =
  /** From another host. */
  | 'fetched'
  /** Out of a form that nobody can read. */
  | 'decoded'
  /** Put together from pieces though it could be written at once. */
  | 'assembled'
  /** From whoever starts the program: its input and arguments. */
  | 'asked'
  /** From a file. */
  | 'read'
  /** All variables of the environment. */
  | 'environment'
  /** A connection to another program. */
  | 'socket';

export interface Value {
  /** Dotted names such as `os.system`, and `socket.socket()` for what a call gives. */
  readonly names: ReadonlySet<string>;
  /** All that it may be where `isOpen` is false; bytes are texts of one character each. */
  readonly texts: readonly string[];
  readonly number?: number;
  readonly items?: readonly Value[];
  readonly entries?: ReadonlyMap<string, Value>;
  /** Functions of the program's own, by the index in its list. */
  readonly functions: readonly number[];
  /** A function with some of its arguments. */
  readonly bound?: { readonly callee: Value; readonly args: readonly Value[] };
  readonly origins: ReadonlySet<Origin>;
  /** It may be something else as well. */
  readonly isOpen: boolean;
}

const MAX_NAMES = 16;
const MAX_FUNCTIONS = 4;
const MAX_PARTS = 10;
const MAX_TEXTS = 8;
const MAX_ITEMS = 256;
const MAX_TEXT_CHARACTERS = 64 * 1024;
const NONE: ReadonlySet<never> = new Set();

export const DECODED: readonly Origin[] = ['decoded'];

/** Of which nothing is known. */
export const NOTHING: Value = { names: NONE, texts: [], functions: [], origins: NONE, isOpen: true };

export function named(names: Iterable<string>, origins: Iterable<Origin> = NONE): Value {
  return { ...NOTHING, names: new Set(names), origins: new Set(origins) };
}

export function ofTexts(texts: readonly string[], origins: Iterable<Origin> = NONE): Value {
  const short = texts.filter(({ length }) => length <= MAX_TEXT_CHARACTERS);
  const unique = [...new Set(short)].slice(0, MAX_TEXTS);
  const isOpen = unique.length < texts.length || texts.length === 0;
  return { ...NOTHING, texts: unique, origins: new Set(origins), isOpen };
}

export function ofNumber(number: number): Value {
  return { ...NOTHING, number, isOpen: false };
}

export function ofItems(items: readonly Value[], origins: Iterable<Origin> = NONE): Value {
  const isOpen = items.length > MAX_ITEMS;
  return { ...NOTHING, items: items.slice(0, MAX_ITEMS), origins: new Set(origins), isOpen };
}

export function ofEntries(entries: ReadonlyMap<string, Value>): Value {
  const isOpen = entries.size > MAX_ITEMS;
  return { ...NOTHING, entries: isOpen ? new Map([...entries].slice(-MAX_ITEMS)) : entries, isOpen };
}

/** A table that is gone through pair by pair. */
export function mapOf(pairs: readonly Value[]): Value {
  const list = ofItems(pairs);
  const entries = (list.items ?? []).flatMap(({ items: [key = NOTHING, value = NOTHING] = [] }) =>
    textsOf(key).map((text): [string, Value] => [text, value]),
  );
  return { ...list, entries: new Map(entries) };
}

/** It may be any of these; the later ones count for more where there is no room for all. */
export function anyOf(values: readonly Value[]): Value {
  const [first] = values;
  if (first === undefined) return NOTHING;
  if (values.length === 1) return first;
  const names = new Set(values.flatMap((value) => [...value.names]).slice(-MAX_NAMES));
  const texts = [...new Set(values.flatMap((value) => value.texts))].slice(-MAX_TEXTS);
  const lists = values.filter(({ items }) => items !== undefined);
  const tables = values.filter(({ entries }) => entries !== undefined);
  const number = values.findLast((value) => value.number !== undefined)?.number;
  const bound = values.findLast((value) => value.bound !== undefined)?.bound;
  return {
    ...{ names, texts },
    ...(number === undefined ? {} : { number }),
    ...(lists.length === 0 ? {} : { items: lists.at(-1)?.items ?? [] }),
    ...(tables.length === 0 ? {} : { entries: merged(tables) }),
    functions: [...new Set(values.flatMap(({ functions }) => functions))].slice(-MAX_FUNCTIONS),
    ...(bound === undefined ? {} : { bound }),
    origins: originsOf(values),
    isOpen: values.some(({ isOpen }) => isOpen),
  };
}

/** The later ones count for more, and no more than there is room for is gone through. */
function merged(tables: readonly Value[]): ReadonlyMap<string, Value> {
  const all = new Map<string, Value>();
  for (const { entries = [] } of tables.toReversed()) {
    for (const [key, value] of entries) {
      if (all.size >= MAX_ITEMS) return all;
      if (!all.has(key)) all.set(key, value);
    }
  }
  return all;
}

export function originsOf(values: readonly Value[]): ReadonlySet<Origin> {
  return new Set(values.flatMap(({ origins }) => [...origins]));
}

export function withOrigins(value: Value, origins: Iterable<Origin>): Value {
  return { ...value, origins: new Set([...value.origins, ...origins]) };
}

/** What of a value's history is left after some function has worked on it. */
export function handedOn(values: readonly Value[]): Origin[] {
  return [...originsOf(values)].filter((origin) => origin !== 'assembled' && origin !== 'socket');
}

/** Each text made into another one; null where that is not known. */
export function mapTexts(
  value: Value,
  change: (text: string) => string | null,
  origins: Iterable<Origin> = NONE,
): Value {
  const texts = value.texts.flatMap((text) => change(text) ?? []);
  return {
    ...ofTexts(texts, [...value.origins, ...origins]),
    isOpen: value.isOpen || texts.length < value.texts.length || texts.length === 0,
  };
}

/** One text after the other; what is not known becomes {@link UNKNOWN}. */
export function concatenated(parts: readonly Value[], separator = ''): Value {
  if (parts.every(({ texts, number }) => texts.length === 0 && number === undefined)) {
    return { ...NOTHING, origins: new Set(handedOn(parts)) };
  }
  let texts = [''];
  for (const [i, part] of parts.entries()) {
    const own = textsOf(part);
    const options = own.length === 0 ? [UNKNOWN] : own;
    const before = i === 0 ? '' : separator;
    const longest = texts.flatMap((text) => options.map((option) => text + before + option));
    texts = longest.filter(({ length }) => length <= MAX_TEXT_CHARACTERS).slice(-MAX_TEXTS);
  }
  const isPlain = texts.length > 0 && texts.every((text) => !text.includes(UNKNOWN));
  return ofTexts(texts, [...handedOn(parts), ...(isPlain && parts.length > 1 ? ['assembled' as const] : [])]);
}

export function textsOf({ texts, number }: Value): readonly string[] {
  return texts.length === 0 && number !== undefined ? [String(number)] : texts;
}

/** `object.property` of each name. */
export function memberNames(
  names: ReadonlySet<string>,
  property: string,
  canonical: (name: string) => string,
): Set<string> {
  const all = [...names].map((name) => canonical(`${name}.${property}`));
  return new Set(all.filter((name) => name.length < 200 && name.split('.').length <= MAX_PARTS));
}

/** What can be iterated over, one by one; the characters of a text, where it is one. */
export function elementsOf(value: Value): readonly Value[] {
  if (value.items !== undefined) return value.items;
  const [text] = value.texts;
  if (text !== undefined && text.length <= 4096)
    return [...text].map((one) => ofTexts([one], [...value.origins, 'decoded']));
  if (value.entries !== undefined) return [...value.entries.keys()].map((key) => ofTexts([key]));
  return [];
}

/** In steps: what is large takes longer to work with. */
export function costOf({ texts, items, names }: Value): number {
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  return (characters >> 10) + ((items?.length ?? 0) >> 3) + (names.size >> 2);
}

export function isValue(value: unknown): value is Value {
  return typeof value === 'object' && value !== null && 'texts' in value && 'origins' in value;
}
