/**
 * The kinds of values that settings have. Written out instead of taken from zod because every start of the
 * command line pays for what is imported here, and importing zod alone costs more than running a small program.
 */
import { resolve } from 'node:path';
import { LANGUAGE_NAMES, type LanguageName } from '../languages/language.ts';
import { isPackageName } from '../languages/packageNames.ts';

export interface ValueType<Value> {
  /** What is allowed; a message continues with it after "it must be". */
  readonly expected: string;
  /** From a variable or a flag; undefined when the text is not usable. Relative paths start at `folder`. */
  parse(text: string, folder: string): Value | undefined;
  /** From YAML or an API option; undefined when the value is not usable. */
  read(value: unknown, folder: string): Value | undefined;
  /** Why a value is not usable, where what is allowed says too little. */
  whyNot?(written: unknown): string | undefined;
  /** The value as it would be written, where it is kept in another form. */
  show?(value: Value): unknown;
  /** The same as JSON Schema, for editors. */
  readonly schema: Readonly<Record<string, unknown>>;
}

const SWITCH: Readonly<Record<string, boolean>> = {
  true: true,
  '1': true,
  yes: true,
  false: false,
  '0': false,
  no: false,
};

/** `true` or `false`; in text also `1`, `0`, `yes` and `no`. */
export const boolean: ValueType<boolean> = {
  expected: 'true or false',
  parse: (text) => own(SWITCH, text),
  read: (value) => (typeof value === 'boolean' ? value : undefined),
  schema: { type: 'boolean' },
};

/** `'true'`, `'false'` or `'warn'`, where the first two may be written as booleans. */
export const booleanOrWarn: ValueType<'false' | 'true' | 'warn'> = {
  expected: 'true, false or "warn"',
  parse: (text) => (text === 'warn' ? text : asSwitchWord(own(SWITCH, text))),
  read: (value) => {
    if (value === 'true' || value === 'false' || value === 'warn') return value;
    return typeof value === 'boolean' ? asSwitchWord(value) : undefined;
  },
  schema: { enum: [true, false, 'true', 'false', 'warn'] },
};

/** A number above 0 and at most `max`; in text only plain digits, so neither `1e3` nor `0x10`. */
export function positiveNumber({ max, whole = false }: { max: number; whole?: boolean }): ValueType<number> {
  const read = (value: unknown) => {
    if (typeof value !== 'number' || !(value > 0 && value <= max)) return undefined;
    return whole && !Number.isInteger(value) ? undefined : value;
  };
  return {
    expected: `a ${whole ? 'whole ' : ''}number above 0 and at most ${max}, in plain digits`,
    parse: (text) => (/^\d+(\.\d+)?$/.test(text) ? read(Number(text)) : undefined),
    read,
    schema: { type: whole ? 'integer' : 'number', exclusiveMinimum: 0, maximum: max },
  };
}

/** One of a few words. */
export function oneOf<const Word extends string>(words: readonly Word[]): ValueType<Word> {
  const read = (value: unknown) => words.find((word) => word === value);
  return { expected: `one of ${words.join(', ')}`, parse: read, read, schema: { enum: words } };
}

/** A list of a few words, not empty, as a list or separated by commas; a word that stands twice counts once. */
export function someOf<const Word extends string>(words: readonly Word[]): ValueType<readonly Word[]> {
  const one = oneOf(words);
  const read = (value: unknown) => {
    const list = listOf(value, (item) => one.read(item, ''));
    return list?.length === 0 ? undefined : list;
  };
  return {
    expected: `a list of at least one of ${words.join(', ')}`,
    parse: read,
    read,
    schema: { anyOf: [{ type: 'array', items: one.schema, minItems: 1 }, { type: 'string' }] },
  };
}

const IMPORTING_LANGUAGES = LANGUAGE_NAMES.filter((name) => name !== 'shell');

/** A list of module names, each for all languages or for one, as in `python:os`; an empty list is a list. */
export const imports: ValueType<readonly string[]> = {
  expected: `a list of module names such as os or python:os (languages: ${IMPORTING_LANGUAGES.join(', ')}; shell has no imports)`,
  parse: (text) => listOf(text, readImport),
  read: (value) => listOf(value, readImport),
  schema: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] },
};

/** A list of packages of one language, each a name with an optional version; an empty list is a list. */
export function packages(language: LanguageName): ValueType<readonly string[]> {
  const readPackage = (value: unknown) =>
    typeof value === 'string' && isPackageName(language, value) ? value : undefined;
  return {
    expected: `a list of names of packages for ${language}, each with an optional version and nothing else`,
    parse: (text) => listOf(text, readPackage),
    read: (value) => listOf(value, readPackage),
    schema: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] },
  };
}

/** A folder; a relative one starts where the setting was written. */
export const folder: ValueType<string> = {
  expected: 'the path of a folder, absolute or relative, without ~',
  parse: readPath,
  read: readPath,
  schema: { type: 'string', minLength: 1 },
};

/** A file; a relative path starts where the setting was written. */
export const file: ValueType<string> = {
  expected: 'the path of a file, absolute or relative, without ~',
  parse: readPath,
  read: readPath,
  schema: { type: 'string', minLength: 1 },
};

/** A program: a name to look for on PATH, or a path; a relative path starts where the setting was written. */
export const program: ValueType<string> = {
  expected: 'the name or the path of a program, without ~',
  parse: readProgram,
  read: readProgram,
  schema: { type: 'string', minLength: 1 },
};

/** The same type where the value is written in another unit or with other words. */
export function converted<Written, Value>(
  type: ValueType<Written>,
  convert: (written: Written) => Value,
): ValueType<Value> {
  const through = (written: Written | undefined) => (written === undefined ? undefined : convert(written));
  return {
    expected: type.expected,
    parse: (text, base) => through(type.parse(text, base)),
    read: (value, base) => through(type.read(value, base)),
    schema: type.schema,
  };
}

function own<Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function asSwitchWord(value: boolean | undefined): 'true' | 'false' | undefined {
  if (value === undefined) return undefined;
  return value ? 'true' : 'false';
}

/** The items of a list, or of a text with commas; undefined when one of them is not usable. */
export function listOf<Item>(
  value: unknown,
  readItem: (item: unknown) => Item | undefined,
): readonly Item[] | undefined {
  const items = typeof value === 'string' ? value.split(',').map((item) => item.trim()) : value;
  if (!Array.isArray(items)) return undefined;
  const read = items.map(readItem);
  return read.includes(undefined) ? undefined : Object.freeze([...new Set(read as Item[])]);
}

function readImport(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^[^\s,\p{Cc}]+$/u.test(value)) return undefined;
  const [language, module] = value.split(/:(.*)/);
  if (module === undefined) return value;
  return IMPORTING_LANGUAGES.some((name) => name === language) && module !== '' ? value : undefined;
}

function readPath(value: unknown, base: string): string | undefined {
  return isPathText(value) ? resolve(base, value) : undefined;
}

function readProgram(value: unknown, base: string): string | undefined {
  if (!isPathText(value)) return undefined;
  return value.includes('/') ? resolve(base, value) : value;
}

/** Nobody expands `~` in a file or a variable: taken literally it would make a folder of that name. */
function isPathText(value: unknown): value is string {
  return typeof value === 'string' && /^[^~\p{Cc}][^\p{Cc}]*$/u.test(value);
}
