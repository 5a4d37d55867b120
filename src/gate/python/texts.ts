/** Methods of texts, bytes and lists of Python. */
import * as decoding from '../reading/decoding.ts';
import type { Call } from '../reading/language.ts';
import {
  anyOf,
  concatenated,
  DECODED,
  elementsOf,
  handedOn,
  mapTexts,
  NOTHING,
  ofItems,
  ofTexts,
  type Value,
  withOrigins,
} from '../reading/values.ts';

import { table } from '../table.ts';
/** What a method gives, where the object is a text, a list or a file; undefined where that is not known. */
export function ofMethod(receiver: Value, method: string, { args, keywords }: Call): Value | undefined {
  const [first, second] = args;
  if (receiver.names.has('builtins.open()') && /^(read|readline|readlines)$/.test(method)) {
    return { ...NOTHING, origins: new Set(['read']) };
  }
  if (receiver.names.size > 0 && receiver.entries === undefined) return undefined;
  if (method === 'join' && first !== undefined) return joinedBy(receiver, first);
  if (method === 'items' && receiver.entries !== undefined) {
    return ofItems([...receiver.entries].map(([key, value]) => ofItems([ofTexts([key]), value])));
  }
  if (method === 'values' && receiver.entries !== undefined) return ofItems([...receiver.entries.values()]);
  if (method === 'get' && first?.texts[0] !== undefined) {
    const entry = receiver.entries?.get(first.texts[0]);
    if (entry !== undefined) return entry;
  }
  if (method === 'setdefault') {
    const entry = receiver.entries?.get(first?.texts[0] ?? '');
    return entry ?? second;
  }
  if (/^pop(left|right|item)?$/.test(method) && receiver.items !== undefined)
    return anyOf(receiver.items.slice(0, 16));
  if (receiver.texts.length === 0) return undefined;
  switch (method) {
    case 'replace':
      return replaced(receiver, first, second);
    case 'lower':
      return mapTexts(receiver, (text) => text.toLowerCase());
    case 'upper':
      return mapTexts(receiver, (text) => text.toUpperCase());
    case 'swapcase':
      return mapTexts(receiver, (text) =>
        [...text].map((one) => (one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase())).join(''),
      );
    case 'strip':
    case 'lstrip':
    case 'rstrip':
      return mapTexts(receiver, (text) => stripped(text, method, first));
    case 'encode':
      return mapTexts(receiver, decoding.toUtf8);
    case 'decode':
      return decodedAs(receiver, first ?? keywords.get('encoding'));
    case 'hex':
      return mapTexts(receiver, (text) => Buffer.from(text, 'latin1').toString('hex'));
    case 'format':
      return formatted(receiver, args, keywords);
    case 'format_map':
      return formatted(receiver, [], first?.entries ?? new Map());
    case 'split':
      return split(receiver, first);
    case 'translate':
      return { ...NOTHING, origins: new Set([...handedOn([receiver]), ...DECODED]) };
    case '__add__':
      return concatenated([receiver, ...args]);
    default:
      return undefined;
  }
}

/** Without the characters of a set at its ends. */
function stripped(text: string, method: string, characters: Value | undefined): string | null {
  if (characters === undefined) return text.trim();
  const [set] = characters.texts;
  if (set === undefined || set.length > 64) return null;
  let [from, to] = [0, text.length];
  if (method !== 'rstrip') while (from < to && set.includes(text[from] ?? '')) from++;
  if (method !== 'lstrip') while (to > from && set.includes(text[to - 1] ?? '')) to--;
  return text.slice(from, to);
}

/** `Template('$a ${b}').substitute(a=..., b=...)` */
export function substituted(template: Value, keywords: ReadonlyMap<string, Value>): Value {
  const results = template.texts.map((text) =>
    concatenated(
      text.split(/(\$\$|\$\w+|\$\{\w+\})/).map((piece) => {
        if (piece === '$$') return ofTexts(['$']);
        const name = /^\$\{?(\w+)\}?$/.exec(piece)?.[1];
        return name === undefined ? ofTexts([piece]) : (keywords.get(name) ?? NOTHING);
      }),
    ),
  );
  return withOrigins(anyOf(results), handedOn([template]));
}

function replaced(text: Value, from: Value | undefined, to: Value | undefined): Value | undefined {
  const [old, now] = [from?.texts[0], to?.texts[0]];
  if (old === undefined || now === undefined) return { ...text, isOpen: true };
  const value = mapTexts(text, (one) =>
    one.length > 4096 && old === '' ? null : one.replaceAll(old, () => now),
  );
  return withOrigins(value, ['assembled', ...handedOn([to ?? NOTHING])]);
}

function split(text: Value, separator: Value | undefined): Value {
  const [first] = text.texts;
  if (first === undefined) return NOTHING;
  const by = separator?.texts[0];
  const parts = by === undefined || by === '' ? first.trim().split(/\s+/) : first.split(by);
  return ofItems(
    parts.map((part) => ofTexts([part], text.origins)),
    text.origins,
  );
}

/** `'{} {name}'.format(...)` */
function formatted(text: Value, args: readonly Value[], keywords: ReadonlyMap<string, Value>): Value {
  const results = text.texts.map((format) => {
    let next = 0;
    const pieces = format.split(/(\{\{|\}\}|\{[^{}]*\})/).map((piece) => {
      if (piece === '{{' || piece === '}}') return ofTexts([piece[0] ?? '']);
      const name = /^\{([^{}:!]*)[^{}]*\}$/.exec(piece)?.[1];
      if (name === undefined) return ofTexts([piece]);
      const value = name === '' ? args[next++] : (keywords.get(name) ?? args[Number(name)]);
      return value ?? NOTHING;
    });
    return concatenated(pieces);
  });
  return withOrigins(anyOf(results), handedOn([text]));
}

/** `separator.join(list)` */
export function joinedBy(separator: Value | undefined, list: Value): Value {
  const items = elementsOf(list);
  if (items.length === 0) return { ...NOTHING, origins: new Set(handedOn([list])) };
  const between = separator?.texts[0] ?? '';
  return withOrigins(concatenated(items, between), [...handedOn([list, ...items])]);
}

/** `text.decode(form)`, `codecs.decode(text, form)` */
export function decodedAs(text: Value, form: Value | undefined): Value {
  const name = (form?.texts[0] ?? 'utf-8').toLowerCase().replaceAll(/[-_ ]/g, '');
  if (/^(utf8|ascii|latin1|iso88591|cp1252)$/.test(name)) return mapTexts(text, decoding.fromUtf8);
  const decode = FORMS[name.replace(/codec$/, '')];
  return decode === undefined
    ? { ...NOTHING, origins: new Set([...handedOn([text]), ...DECODED]) }
    : mapTexts(text, decode, DECODED);
}

const FORMS = table<(text: string) => string | null>({
  rot13: decoding.rot13,
  rot: decoding.rot13,
  hex: decoding.fromHex,
  base64: decoding.fromBase64,
  zlib: decoding.decompressed,
  zip: decoding.decompressed,
  unicodeescape: decoding.unescaped,
  rawunicodeescape: decoding.unescaped,
});
