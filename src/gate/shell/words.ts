/** What the words of a script are, as far as the script itself says it. */

import type { ParsedScript, Word, WordPart } from 'unbash';
import { UNKNOWN } from '../reading/values.ts';

/** Stands before what the file holds that a process substitution names. */
export const SUBSTITUTED = '\0file:';

/** What variables are known to hold. */
export type Variables = ReadonlyMap<string, string>;

/** What a nested script prints, where that can be told from its text. */
export type Printed = (script: ParsedScript) => string | undefined;

export interface Reading {
  readonly variables: Variables;
  /** Lists, by their names; `@` is what the script is given. */
  readonly lists: ReadonlyMap<string, readonly string[]>;
  /** Names that stand for others: `declare -n`. */
  readonly references: Variables;
  readonly printed: Printed;
}

/** Of what a word becomes: variables made of variables grow without end. */
const MAX_CHARACTERS = 64 * 1024;
const MAX_WORDS = 1_000;
/** Of a value of which a part is taken or changed. */
const MAX_CHANGED = 4_096;

/** The words that one becomes: an expansion without quotes is split. Parts that are not known hold {@link UNKNOWN}. */
export function expand(word: Word, reading: Reading): string[] {
  if (word.parts === undefined) return [word.value];
  const words = [''];
  const add = (text: string): void => {
    const longer = `${words.at(-1)}${text}`;
    words[words.length - 1] = longer.length > MAX_CHARACTERS ? UNKNOWN : longer;
  };
  for (const part of word.parts) {
    if (part.type === 'BraceExpansion') {
      const before = words.pop() ?? '';
      for (const one of alternatives(part.text)) if (words.length < MAX_WORDS) words.push(`${before}${one}`);
      continue;
    }
    const list = listOf(part, reading);
    if (list !== undefined) {
      const [first = '', ...rest] = list;
      add(first);
      for (const one of rest) if (words.length < MAX_WORDS) words.push(one);
      continue;
    }
    const text = valueOfPart(part, reading);
    if (!isSplit(part)) {
      add(text);
      continue;
    }
    const [first = '', ...rest] = text.split(/[ \t\n]+/);
    add(first);
    for (const one of rest) if (words.length < MAX_WORDS) words.push(one);
  }
  return words.filter((text, i) => text !== '' || words.length === 1 || i === 0);
}

/** `"$@"` and `"${list[@]}"` are as many words as they hold, also between quotes. */
function listOf(part: WordPart, { lists }: Reading): readonly string[] | undefined {
  if (part.type === 'DoubleQuoted') {
    const [inner, ...others] = part.parts;
    return inner !== undefined && others.length === 0 ? listOf(inner, { lists } as Reading) : undefined;
  }
  if (part.type === 'SimpleExpansion') return part.text === '$@' ? lists.get('@') : undefined;
  const isWhole = part.type === 'ParameterExpansion' && /^[@*]$/.test(part.index?.value ?? '');
  return isWhole ? lists.get(part.parameter) : undefined;
}

/** The word as one text, as in an assignment or between quotes. */
export function textOf(word: Word, reading: Reading): string {
  return word.parts === undefined ? word.value : valueOfParts(word.parts, reading);
}

export function valueOfParts(parts: readonly WordPart[], reading: Reading): string {
  let text = '';
  for (const part of parts) {
    text += valueOfPart(part, reading);
    if (text.length > MAX_CHARACTERS) return UNKNOWN;
  }
  return text;
}

function isSplit({ type }: WordPart): boolean {
  return type === 'SimpleExpansion' || type === 'ParameterExpansion' || type === 'CommandExpansion';
}

function valueOfPart(part: WordPart, reading: Reading): string {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
    case 'Glob':
      return part.value;
    case 'DoubleQuoted':
    case 'LocaleString':
      return valueOfParts(part.parts, reading);
    case 'SimpleExpansion':
      return ofVariable(part.text.slice(1), reading);
    case 'ParameterExpansion':
      return ofParameter(part, reading);
    case 'CommandExpansion':
      return (part.script === undefined ? undefined : reading.printed(part.script)) ?? UNKNOWN;
    case 'BraceExpansion':
      return alternatives(part.text).join(' ');
    case 'ProcessSubstitution':
      return `${SUBSTITUTED}${(part.script === undefined ? undefined : reading.printed(part.script)) ?? UNKNOWN}`;
    default:
      return UNKNOWN;
  }
}

function ofVariable(name: string, { variables, lists, references }: Reading): string {
  const known = variables.get(references.get(name) ?? name);
  if (known !== undefined) return known;
  if (name === 'IFS') return ' ';
  if (name === 'HOME') return '~';
  // None was given, where a script is given as a text.
  return name === '@' || name === '*' ? (lists.get('@') ?? []).join(' ') : UNKNOWN;
}

function ofParameter(part: Extract<WordPart, { type: 'ParameterExpansion' }>, reading: Reading): string {
  const { parameter, prefix, index, operation } = part;
  if (prefix === '#') return UNKNOWN;
  const named =
    index === undefined ? ofVariable(parameter, reading) : ofIndex(parameter, index.value, reading);
  const value = prefix === '!' ? ofVariable(named, reading) : named;
  if (operation === undefined) return value;
  if (operation.type === 'Default' && operation.operator.endsWith('-')) {
    return value === UNKNOWN ? textOf(operation.operand, reading) : value;
  }
  if (value === UNKNOWN) return UNKNOWN;
  if (operation.type === 'Slice') {
    const offset = Number(operation.offset.value);
    const length = operation.length === undefined ? value.length : Number(operation.length.value);
    return Number.isInteger(offset) && Number.isInteger(length)
      ? value.slice(offset, offset + length)
      : UNKNOWN;
  }
  if (value.length > MAX_CHANGED) return UNKNOWN;
  if (operation.type === 'Remove')
    return withoutEnd(value, operation.operator, textOf(operation.operand, reading));
  if (operation.type === 'CaseModification' && operation.operand === undefined) {
    const count = operation.operator.length === 1 ? 1 : value.length;
    const start = value.slice(0, count);
    const changed = operation.operator.startsWith(',') ? start.toLowerCase() : start.toUpperCase();
    return `${changed}${value.slice(count)}`;
  }
  if (operation.type === 'Replace' && /^[\w./-]*$/.test(operation.pattern.value)) {
    const replacement = textOf(operation.replacement, reading);
    return operation.operator === '//'
      ? value.replaceAll(operation.pattern.value, replacement)
      : value.replace(operation.pattern.value, replacement);
  }
  return UNKNOWN;
}

function ofIndex(name: string, index: string, { lists }: Reading): string {
  return (/^\d+$/.test(index) ? lists.get(name)?.[Number(index)] : undefined) ?? UNKNOWN;
}

/** `${x#start}` and `${x%end}`, as long as these are texts and no patterns. */
function withoutEnd(value: string, operator: string, end: string): string {
  if (end === '' || /[*?[\\\0]/.test(end)) return UNKNOWN;
  if (operator.startsWith('#')) return value.startsWith(end) ? value.slice(end.length) : value;
  return value.endsWith(end) ? value.slice(0, -end.length) : value;
}

/** `{a,b}` without others in it; everything else stays as it is. */
function alternatives(text: string): string[] {
  const inner = /^\{([^{}]*,[^{}]*)\}$/.exec(text)?.[1];
  return inner === undefined ? [text] : inner.split(',');
}
