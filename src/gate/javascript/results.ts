/** What calls of JavaScript give, as far as their arguments tell. */
import * as decoding from '../reading/decoding.ts';
import { fromJson } from '../reading/json.ts';
import type { Call } from '../reading/language.ts';
import {
  anyOf,
  concatenated,
  DECODED,
  elementsOf,
  handedOn,
  mapOf,
  mapTexts,
  NOTHING,
  named,
  type Origin,
  ofEntries,
  ofItems,
  ofNumber,
  ofTexts,
  textsOf,
  UNKNOWN,
  type Value,
  withOrigins,
} from '../reading/values.ts';
import { originOfOutput } from '../shell/output.ts';
import { table } from '../table.ts';
import { canonical, FETCHES } from './names.ts';
import { moduleName } from './syntax.ts';

export const IMPORTERS: ReadonlySet<string> = new Set([
  ...['require', 'import', 'process.getBuiltinModule', 'module._load', 'module.createRequire()'],
]);

export function javaScriptResult(call: Call): Value | undefined {
  for (const name of call.callee.names) {
    const result = RESULTS[name]?.(call, name) ?? byPattern(name, call);
    if (result !== undefined) return result;
  }
  const { receiver, method } = call;
  if (receiver === undefined || method === undefined) return undefined;
  return ofMethod(receiver, method, call);
}

function byPattern(name: string, call: Call): Value | undefined {
  if (IMPORTERS.has(name)) {
    const module = call.args[0] ?? NOTHING;
    return named(
      module.texts.map((text) => canonical(moduleName(text))),
      module.origins,
    );
  }
  if (FETCHES.test(name)) return named([`${name}()`], ['fetched']);
  if (/^fs\.readFile(Sync)?$/.test(name)) return { ...NOTHING, origins: new Set(['read']) };
  if (/^fs\.create(Write|Read)Stream$/.test(name))
    return { ...(call.args[0] ?? NOTHING), names: new Set([`${name}()`]) };
  if (/^child_process\.(spawn|exec|execFile)$/.test(name))
    return { ...(call.args[0] ?? NOTHING), names: new Set([`${name}()`]), origins: new Set() };
  if (/^child_process\.(exec|execFile|spawn)Sync$/.test(name))
    return { ...NOTHING, origins: new Set([originOfOutput(call.args[0])]) };
  if (/^zlib\.(inflate|gunzip|unzip|brotliDecompress|inflateRaw)(Sync)?$/.test(name))
    return mapTexts(call.args[0] ?? NOTHING, decoding.decompressed, DECODED);
  return undefined;
}

type Result = (call: Call, name: string) => Value | undefined;

const same: Result = ({ args: [value] }) => value;
const joinsPath: Result = ({ args }) => pathOf(args);
const characters: Result = ({ args }) => {
  const numbers = args.map(({ number }) => number);
  if (numbers.length === 0 || numbers.some((number) => number === undefined)) {
    return { ...NOTHING, origins: new Set([...handedOn(args), ...DECODED]) };
  }
  return ofTexts([numbers.map((number) => String.fromCodePoint((number ?? 0) & 0xffff)).join('')], DECODED);
};
/** Code that gives one plain thing: `return process`, `require('fs')`. */
const ofCode: Result = ({ args, callee }) => {
  const code = callee.names.has('Function()') ? callee.texts[0] : args.at(-1)?.texts[0];
  const expression = /^\s*(?:return\b\s*)?([\w.]+)(?:\(['"]([\w:/]+)['"]\))?\s*;?\s*$/.exec(code ?? '');
  if (expression === null) return undefined;
  const [, name = '', module] = expression;
  if (module !== undefined)
    return IMPORTERS.has(canonical(name)) ? named([canonical(moduleName(module))]) : undefined;
  return named([name === 'this' ? 'globalThis' : canonical(name)]);
};

const RESULTS = table<Result>({
  eval: ofCode,
  Function: ({ args }) => ({ ...(args.at(-1) ?? NOTHING), names: new Set(['Function()']) }),
  'Function()': ofCode,
  'vm.runInThisContext': ofCode,
  'vm.runInNewContext': ofCode,
  'vm.Script': ({ args: [text = NOTHING] }) => ({ ...text, names: new Set(['vm.Script()']) }),
  'module.createRequire': () => named(['require']),
  'util.promisify': same,
  'Promise.resolve': same,
  'Object.freeze': same,
  'Object.getPrototypeOf': ({ args: [value = NOTHING] }) =>
    value.functions.length > 0 ? named(['Function.prototype']) : undefined,
  'Object.values': ({ args: [value = NOTHING] }) =>
    value.entries === undefined ? undefined : ofItems([...value.entries.values()]),
  'Object.keys': ({ args: [value = NOTHING] }) =>
    value.entries === undefined ? undefined : ofItems([...value.entries.keys()].map((key) => ofTexts([key]))),
  'Object.entries': ({ args: [value = NOTHING] }) =>
    value.entries === undefined
      ? undefined
      : ofItems([...value.entries].map(([key, one]) => ofItems([ofTexts([key]), one]))),
  'Object.fromEntries': ({ args: [pairs = NOTHING] }) =>
    pairs.items === undefined ? undefined : mapOf(pairs.items),
  Map: ({ args: [pairs = NOTHING] }) => withOrigins(mapOf(pairs.items ?? []), handedOn([pairs])),
  Set: ({ args: [value = NOTHING] }) =>
    value.items === undefined && (value.texts[0]?.length ?? 0) > 256
      ? undefined
      : ofItems(elementsOf(value), handedOn([value])),
  'JSON.parse': ({ args: [text = NOTHING] }) => fromJson(text),
  'Object.assign': ({ args }) => ({
    ...ofEntries(new Map(args.flatMap(({ entries }) => [...(entries ?? [])]))),
    names: new Set(args.flatMap(({ names }) => [...names]).slice(0, 8)),
    origins: new Set(handedOn(args)),
  }),
  'Object.create': same,
  structuredClone: same,
  'Promise.all': ({ args: [list] }) => (list?.items === undefined ? undefined : list),
  'Promise.race': ({ args: [list] }) => (list?.items === undefined ? undefined : anyOf(list.items)),
  'Promise.any': ({ args: [list] }) => (list?.items === undefined ? undefined : anyOf(list.items)),
  'Reflect.get': ({ args: [object = NOTHING, name = NOTHING] }) =>
    named(
      [...object.names].flatMap((of) => name.texts.map((text) => canonical(`${of}.${text}`))),
      name.origins,
    ),
  String: ({ args: [value = NOTHING] }) => ({ ...value, texts: textsOf(value), names: new Set() }),
  'String.raw': same,
  'String.fromCharCode': characters,
  'String.fromCodePoint': characters,
  atob: ({ args: [text = NOTHING] }) => mapTexts(text, decoding.fromBase64, DECODED),
  decodeURIComponent: ({ args: [text = NOTHING] }) => mapTexts(text, decoding.percentDecoded, DECODED),
  decodeURI: ({ args: [text = NOTHING] }) => mapTexts(text, decoding.percentDecoded, DECODED),
  unescape: ({ args: [text = NOTHING] }) => mapTexts(text, decoding.percentDecoded, DECODED),
  'Buffer.from': ({ args: [value = NOTHING, form] }) => bufferOf(value, form),
  'Buffer.concat': ({ args: [list = NOTHING] }) => concatenated(elementsOf(list)),
  'Uint8Array.from': ({ args: [value = NOTHING] }) => bufferOf(value, undefined),
  Uint8Array: ({ args: [value = NOTHING] }) => bufferOf(value, undefined),
  'TextDecoder().decode': ({ args: [value = NOTHING] }) => mapTexts(value, decoding.fromUtf8),
  'Array.from': ({ args: [value = NOTHING, change], apply }) =>
    ofItems(
      elementsOf(value).map((one) => (change === undefined ? one : apply(change, [one]))),
      value.origins,
    ),
  parseInt: ({ args: [value = NOTHING, base] }) => {
    const number = value.number ?? Number.parseInt(value.texts[0] ?? '', base?.number ?? 10);
    return Number.isNaN(number) ? undefined : ofNumber(number);
  },
  Number: ({ args: [value = NOTHING] }) => {
    const number = value.number ?? Number(value.texts[0] ?? Number.NaN);
    return Number.isNaN(number) ? undefined : ofNumber(number);
  },
  'JSON.stringify': ({ args: [value = NOTHING] }) => ({
    ...NOTHING,
    origins: new Set(handedOn([value])),
  }),
  'path.join': joinsPath,
  'path.resolve': joinsPath,
  'path.normalize': same,
  'os.homedir': () => ofTexts(['~']),
  'os.tmpdir': () => ofTexts(['/tmp']),
  'process.cwd': () => ofTexts(['.']),
  'fs.mkdtemp': () => ofTexts([`/tmp/${UNKNOWN}`]),
  'fs.mkdtempSync': () => ofTexts([`/tmp/${UNKNOWN}`]),
  URL: same,
  'url.fileURLToPath': same,
});

function pathOf(args: readonly Value[]): Value {
  const parts = args.filter(({ texts }) => !texts.includes(''));
  const absolute = parts.findLastIndex(({ texts }) => texts.some((text) => /^[/~]/.test(text)));
  const joined = concatenated(parts.slice(Math.max(0, absolute)), '/');
  return { ...mapTexts(joined, (text) => text.replace(/\/{2,}/g, '/')), origins: new Set(handedOn(args)) };
}

function bufferOf(value: Value, form: Value | undefined): Value {
  if (value.items !== undefined) {
    const numbers = value.items.map(({ number }) => number);
    return numbers.length === 0 || numbers.some((number) => number === undefined)
      ? { ...NOTHING, origins: new Set(handedOn([value])) }
      : ofTexts([String.fromCharCode(...numbers.map((number) => (number ?? 0) & 0xff))], DECODED);
  }
  const name = form?.texts[0]?.toLowerCase() ?? 'utf8';
  const decode = FORMS[name];
  return decode === undefined ? { ...value, names: new Set() } : mapTexts(value, decode, DECODED);
}

const FORMS = table<(text: string) => string | null>({
  base64: decoding.fromBase64,
  base64url: decoding.fromBase64,
  hex: decoding.fromHex,
});

/** Methods of texts, lists and functions. */
function ofMethod(receiver: Value, method: string, { args, apply }: Call): Value | undefined {
  const [first, second] = args;
  if (method === 'then' || method === 'finally' || method === 'catch') {
    const result = first === undefined ? NOTHING : apply(first, [receiver]);
    return { ...result, origins: new Set([...handedOn([receiver]), ...result.origins]) };
  }
  if (method === 'bind') {
    const callee = { ...receiver };
    return { ...NOTHING, bound: { callee, args: args.slice(1) } };
  }
  if (method === 'get' && receiver.entries !== undefined) {
    const entries = (first?.texts ?? []).flatMap((key) => receiver.entries?.get(key) ?? []);
    return anyOf(entries.length > 0 ? entries : [...receiver.entries.values()].slice(0, 16));
  }
  if (receiver.entries !== undefined && receiver.items !== undefined) {
    if (method === 'values') return ofItems([...receiver.entries.values()]);
    if (method === 'keys') return ofItems([...receiver.entries.keys()].map((key) => ofTexts([key])));
  }
  if (receiver.items !== undefined) {
    const result = ofListMethod(receiver, receiver.items, method, args, apply);
    if (result !== undefined) return result;
  }
  if (receiver.texts.length === 0 || receiver.names.size > 0) return undefined;
  switch (method) {
    case 'toString':
      return formOf(receiver, first);
    case 'valueOf':
    case 'normalize':
    case 'toWellFormed':
      return receiver;
    case 'trim':
    case 'trimStart':
    case 'trimEnd':
      return mapTexts(receiver, (text) => text.trim());
    case 'toLowerCase':
      return mapTexts(receiver, (text) => text.toLowerCase());
    case 'toUpperCase':
      return mapTexts(receiver, (text) => text.toUpperCase());
    case 'concat':
      return concatenated([receiver, ...args]);
    case 'repeat':
      return mapTexts(receiver, (text) =>
        first?.number !== undefined && first.number >= 0 && text.length * first.number <= 65_536
          ? text.repeat(first.number)
          : null,
      );
    case 'charAt':
    case 'at':
      return mapTexts(receiver, (text) => text.at(first?.number ?? 0) ?? '', ['assembled']);
    case 'charCodeAt':
    case 'codePointAt':
      return ofNumber(receiver.texts[0]?.charCodeAt(first?.number ?? 0) ?? 0);
    case 'slice':
    case 'substring':
      return mapTexts(receiver, (text) => text.slice(first?.number ?? 0, second?.number), ['assembled']);
    case 'substr':
      return mapTexts(
        receiver,
        (text) => {
          const from = first?.number ?? 0;
          return text.slice(from, second?.number === undefined ? undefined : from + second.number);
        },
        ['assembled'],
      );
    case 'split': {
      const [text = ''] = receiver.texts;
      const by = first?.texts[0];
      const parts = by === undefined ? [text] : text.slice(0, 8192).split(by);
      const origins: Origin[] = by === '' ? [...receiver.origins, 'decoded'] : [...receiver.origins];
      return ofItems(
        parts.map((part) => ofTexts([part], origins)),
        origins,
      );
    }
    case 'replace':
    case 'replaceAll': {
      const [old, now] = [first?.texts[0], second?.texts[0]];
      const isRegex = first?.names.has('RegExp') === true;
      if (old === undefined || now === undefined) return { ...receiver, texts: [], isOpen: true };
      return mapTexts(
        receiver,
        (text) =>
          method === 'replace' && !isRegex ? text.replace(old, () => now) : text.replaceAll(old, () => now),
        ['assembled'],
      );
    }
    default:
      return undefined;
  }
}

function formOf(value: Value, form: Value | undefined): Value {
  switch (form?.texts[0]?.toLowerCase()) {
    case 'base64':
      return mapTexts(value, (text) => Buffer.from(text, 'latin1').toString('base64'));
    case 'hex':
      return mapTexts(value, (text) => Buffer.from(text, 'latin1').toString('hex'));
    default:
      return mapTexts(value, decoding.fromUtf8);
  }
}

function ofListMethod(
  list: Value,
  items: readonly Value[],
  method: string,
  args: readonly Value[],
  apply: Call['apply'],
): Value | undefined {
  const [first, second] = args;
  switch (method) {
    case 'join': {
      const joined = concatenated(items, first?.texts[0] ?? ',');
      return withOrigins(joined, handedOn([list, ...items]));
    }
    case 'reverse':
    case 'toReversed':
      return ofItems([...items].reverse(), [...list.origins, 'decoded']);
    case 'map':
    case 'flatMap':
      return first === undefined
        ? undefined
        : ofItems(
            items.map((item, i) => apply(first, [item, ofNumber(i)])),
            list.origins,
          );
    case 'filter':
    case 'sort':
    case 'flat':
      return list;
    case 'slice':
      return ofItems(items.slice(first?.number ?? 0, second?.number), list.origins);
    case 'concat':
      return ofItems([...items, ...args.flatMap((arg) => arg.items ?? [arg])], list.origins);
    case 'reduce':
      return first === undefined
        ? undefined
        : items.reduce<Value | undefined>(
            (total, item) => (total === undefined ? item : apply(first, [total, item])),
            second,
          );
    case 'at':
    case 'find':
    case 'pop':
    case 'shift':
      return first?.number !== undefined ? items.at(first.number) : anyOf(items.slice(0, 16));
    case 'values':
    case 'entries':
      return list.entries === undefined && method === 'entries' ? undefined : list;
    case 'next':
      return ofEntries(new Map([['value', anyOf(items.slice(0, 16))]]));
    case 'toString':
      return concatenated(items, ',');
    default:
      return undefined;
  }
}

export function javaScriptOperation(operator: string, left: Value, right: Value): Value | undefined {
  const [a, b] = [left.number, right.number];
  if (operator === 'unary -' && a !== undefined) return ofNumber(-a);
  if (operator === 'unary +' && a !== undefined) return ofNumber(a);
  if (operator === 'unary !' && a !== undefined) return ofNumber(a === 0 ? 1 : 0);
  if (a === undefined || b === undefined) return undefined;
  const result = ARITHMETIC[operator]?.(a, b);
  return result === undefined ? undefined : ofNumber(result);
}

const ARITHMETIC = table<(a: number, b: number) => number>({
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
  '**': (a, b) => a ** b,
  '^': (a, b) => a ^ b,
  '&': (a, b) => a & b,
  '|': (a, b) => a | b,
  '<<': (a, b) => a << b,
  '>>': (a, b) => a >> b,
});
