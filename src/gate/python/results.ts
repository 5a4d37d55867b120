/** What calls of Python give, as far as their arguments tell. */

import * as decoding from '../reading/decoding.ts';
import { fromJson } from '../reading/json.ts';
import type { Call } from '../reading/language.ts';
import {
  anyOf,
  concatenated,
  DECODED,
  elementsOf,
  handedOn,
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
import { canonical, FETCHES, globalNamed, moduleImportedBy } from './names.ts';
import { joinedPath, ofPathMethod, PATH } from './paths.ts';
import { decodedAs, joinedBy, ofMethod, substituted } from './texts.ts';

export function pythonResult(call: Call): Value | undefined {
  for (const name of call.callee.names) {
    const result = RESULTS[name]?.(call) ?? byPattern(name, call);
    if (result !== undefined) return result;
  }
  const { receiver, method } = call;
  if (receiver === undefined || method === undefined) return undefined;
  return ofMethod(receiver, method, call);
}

function byPattern(name: string, call: Call): Value | undefined {
  if (name === 'subprocess.Popen') {
    const argv = call.args[0] ?? call.keywords.get('args') ?? NOTHING;
    return { ...argv, names: new Set([POPEN]) };
  }
  if (FETCHES.test(name)) return named([`${name}()`], ['fetched']);
  if (/^(subprocess\.(check_output|getoutput|getstatusoutput|run)|os\.popen)$/.test(name)) {
    return named([`${name}()`], [originOfOutput(call.args[0] ?? call.keywords.get('args'))]);
  }
  if (name.startsWith(PATH)) return ofPathMethod(name.slice(PATH.length + 1), call);
  return undefined;
}

const POPEN = 'subprocess.Popen()';

type Result = (call: Call) => Value | undefined;

const decoder =
  (decode: (text: string) => string | null): Result =>
  ({ args: [text = NOTHING] }) =>
    mapTexts(text, decode, DECODED);
const same: Result = ({ args: [value] }) => value;
const opaque: Result = ({ args }) => ({ ...NOTHING, origins: new Set([...handedOn(args), ...DECODED]) });
const importer: Result = (call) => {
  const module = moduleImportedBy(call);
  const isWhole = call.callee.names.has('importlib.import_module');
  if (module.texts.length === 0) return named([], module.origins);
  const names = module.texts.map((text) => (isWhole ? text : (text.split('.')[0] ?? text)));
  return named(names, module.origins);
};
/** Code that gives one plain thing: `os.system`, `__import__('os').system`. */
const ofCode: Result = ({ args: [code] }) => {
  const expression =
    /^\s*(?:__import__\(\s*['"](\w+)['"]\s*\)((?:\.[A-Za-z_]\w*)*)|([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*))\s*$/.exec(
      (code?.texts[0] ?? '').slice(0, 200),
    );
  if (expression === null) return undefined;
  const [, module, members = '', name = ''] = expression;
  if (module !== undefined) return named([canonical(`${module}${members}`)], code?.origins);
  return name.includes('.') ? named([canonical(name)], code?.origins) : globalNamed(name);
};
const own: Result = () => ofTexts([`/tmp/${UNKNOWN}`]);
const asked: Result = () => ({ ...NOTHING, origins: new Set(['asked'] as const) });
const opened: Result = ({ args: [path = NOTHING], keywords }) => ({
  ...(keywords.get('file') ?? path),
  names: new Set(['builtins.open()']),
  origins: new Set(['read']),
});
const path: Result = ({ args }) => {
  const joined = args.length === 0 ? ofTexts(['.']) : joinedPath(args);
  return { ...joined, names: new Set([PATH]) };
};
const variable: Result = ({ args: [name, fallback] }) => {
  if (name?.texts.includes('HOME') || name?.texts.includes('USERPROFILE')) return ofTexts(['~']);
  return { ...anyOf([fallback ?? NOTHING]), isOpen: true, names: new Set() };
};

const substitutes: Result = ({ receiver = NOTHING, args: [values], keywords }) =>
  substituted(receiver, new Map([...(values?.entries ?? []), ...keywords]));

/** Plain literals of Python are nearly JSON. */
function asJson(literal: string): string {
  return literal.length > 4096 || literal.includes('"')
    ? literal
    : literal
        .replaceAll("'", '"')
        .replaceAll('(', '[')
        .replaceAll(')', ']')
        .replace(/,\s*(?=[\]}])/g, '');
}

/** Longer ones are mostly no part of a text. */
const MAX_RANGE = 64;

const RESULTS = table<Result>({
  'builtins.__import__': importer,
  'importlib.import_module': importer,
  'importlib.__import__': importer,
  'pydoc.locate': ({ args: [name] }) => named(name?.texts ?? [], name?.origins),
  'builtins.__loader__.load_module': importer,
  'builtins.globals': () => named(['globals()']),
  'builtins.locals': () => named(['globals()']),
  'builtins.vars': ({ args: [of] }) => of ?? named(['globals()']),
  'builtins.compile': same,
  'builtins.eval': ofCode,
  'builtins.dir': () => ofItems([named(['builtins.dir().0'])]),
  'builtins.str': ({ args: [value = NOTHING] }) => {
    const texts = textsOf(value);
    return texts.length === 0 ? { ...NOTHING, origins: new Set(handedOn([value])) } : { ...value, texts };
  },
  'builtins.bytes': ({ args: [value = NOTHING] }) => bytesOf(value),
  'builtins.bytearray': ({ args: [value = NOTHING] }) => bytesOf(value),
  'builtins.chr': ({ args: [value] }) =>
    value?.number === undefined
      ? { ...NOTHING, origins: new Set([...(value?.origins ?? []), ...DECODED]) }
      : ofTexts(
          [String.fromCodePoint(Math.min(Math.max(0, Math.trunc(value.number) || 0), 0x10ffff))],
          DECODED,
        ),
  'builtins.ord': ({ args: [value] }) =>
    value?.texts[0] === undefined ? undefined : ofNumber(value.texts[0].codePointAt(0) ?? 0),
  'builtins.int': ({ args: [value, base] }) => {
    const number =
      value?.number ?? Number.parseInt(value?.texts[0]?.replace(/^0[xob]/i, '') ?? '', base?.number ?? 10);
    return Number.isNaN(number) ? undefined : ofNumber(Math.trunc(number));
  },
  'builtins.len': ({ args: [value] }) =>
    value?.items !== undefined
      ? ofNumber(value.items.length)
      : value?.texts[0] === undefined
        ? undefined
        : ofNumber(value.texts[0].length),
  'builtins.range': ({ args }) => {
    const [from, to, step] = args.length < 2 ? [0, args[0]?.number, 1] : args.map(({ number }) => number);
    if (from === undefined || to === undefined) return undefined;
    const by = step ?? 1;
    const count = Math.max(0, Math.ceil((to - from) / by)) || 0;
    if (count > MAX_RANGE) return undefined;
    return ofItems(Array.from({ length: count }, (_one, i) => ofNumber(from + i * by)));
  },
  'builtins.list': ({ args: [value = NOTHING] }) => listOf(value),
  'builtins.tuple': ({ args: [value = NOTHING] }) => listOf(value),
  'builtins.set': ({ args: [value = NOTHING] }) => listOf(value),
  'builtins.sorted': ({ args: [value = NOTHING] }) => listOf(value),
  'builtins.iter': same,
  'builtins.next': ({ args: [value = NOTHING] }) => elementsOf(value)[0] ?? value,
  'builtins.reversed': ({ args: [value = NOTHING] }) =>
    withOrigins(ofItems([...elementsOf(value)].reverse()), value.texts.length > 0 ? DECODED : []),
  'builtins.enumerate': ({ args: [value = NOTHING] }) =>
    ofItems(elementsOf(value).map((one, i) => ofItems([ofNumber(i), one]))),
  'builtins.zip': ({ args }) => {
    const lists = args.map(elementsOf);
    return ofItems((lists[0] ?? []).map((_one, i) => ofItems(lists.map((list) => list[i] ?? NOTHING))));
  },
  'builtins.map': ({ args: [callee = NOTHING, ...lists], apply }) => {
    const columns = lists.map(elementsOf);
    const results = (columns[0] ?? []).map((_one, i) =>
      apply(
        callee,
        columns.map((list) => list[i] ?? NOTHING),
      ),
    );
    return ofItems(results, handedOn([...lists, ...results]));
  },
  'builtins.dict': ({ args, keywords }) =>
    withOrigins(ofEntries(new Map([...(args[0]?.entries ?? []), ...keywords])), handedOn(args)),
  'builtins.getattr': ({ args: [object = NOTHING, name = NOTHING] }) => memberThrough(object, name),
  'string.Template': ({ args: [text = NOTHING] }) => ({ ...text, names: new Set(['string.Template()']) }),
  'string.Template().substitute': substitutes,
  'string.Template().safe_substitute': substitutes,
  'collections.deque': ({ args: [value = NOTHING] }) => listOf(value),
  'json.loads': ({ args: [text = NOTHING] }) => fromJson(text),
  'ast.literal_eval': ({ args: [text = NOTHING] }) => fromJson(mapTexts(text, asJson)),
  'builtins.input': asked,
  'sys.stdin.read': asked,
  'sys.stdin.readline': asked,
  'builtins.open': opened,
  'io.open': opened,
  'os.open': opened,
  'os.fdopen': same,
  'codecs.open': opened,
  'gzip.open': opened,
  'pathlib.Path': path,
  'pathlib.PosixPath': path,
  'pathlib.PurePath': path,
  'pathlib.PurePosixPath': path,
  'pathlib.Path.home': () => ({ ...ofTexts(['~']), names: new Set([PATH]) }),
  'pathlib.Path.cwd': () => ({ ...ofTexts(['.']), names: new Set([PATH]) }),
  'os.path.join': ({ args }) => joinedPath(args),
  'os.path.expanduser': same,
  'os.path.expandvars': ({ args: [value = NOTHING] }) =>
    mapTexts(value, (text) => text.replace(/\$\{?HOME\}?/g, '~')),
  'os.path.abspath': same,
  'os.path.realpath': same,
  'os.path.normpath': same,
  'os.fspath': same,
  'os.getcwd': () => ofTexts(['.']),
  'os.getenv': variable,
  'os.environ.get': variable,
  'os.environ.pop': variable,
  'os.walk': ({ args: [top = NOTHING] }) => ofItems([ofItems([{ ...top, isOpen: true }, NOTHING, NOTHING])]),
  'glob.glob': ({ args: [pattern = NOTHING] }) => ofItems([pattern]),
  'glob.iglob': ({ args: [pattern = NOTHING] }) => ofItems([pattern]),
  'tempfile.NamedTemporaryFile': () => ({
    ...ofTexts([`/tmp/${UNKNOWN}`]),
    names: new Set(['builtins.open()']),
  }),
  'os.scandir': ({ args: [path = ofTexts(['.'])] }) =>
    ofItems([{ ...joinedPath([path, NOTHING]), names: new Set(['os.DirEntry']) }]),
  'tempfile.mkdtemp': own,
  'tempfile.gettempdir': () => ofTexts(['/tmp']),
  'tempfile.TemporaryDirectory': own,
  'tempfile.mktemp': own,
  'shlex.split': ({ args: [text = NOTHING] }) => wordsOf(text),
  'shlex.join': ({ args: [list = NOTHING] }) => concatenated(list.items ?? [], ' '),
  'shlex.quote': same,
  'textwrap.dedent': same,
  'base64.b64decode': decoder(decoding.fromBase64),
  'base64.standard_b64decode': decoder(decoding.fromBase64),
  'base64.urlsafe_b64decode': decoder(decoding.fromBase64),
  'base64.decodebytes': decoder(decoding.fromBase64),
  'base64.b32decode': decoder(decoding.fromBase32),
  'base64.b16decode': decoder(decoding.fromHex),
  'base64.a85decode': opaque,
  'base64.b85decode': opaque,
  'binascii.a2b_base64': decoder(decoding.fromBase64),
  'binascii.unhexlify': decoder(decoding.fromHex),
  'binascii.a2b_hex': decoder(decoding.fromHex),
  'builtins.bytes.fromhex': decoder(decoding.fromHex),
  'builtins.bytearray.fromhex': decoder(decoding.fromHex),
  'zlib.decompress': decoder(decoding.decompressed),
  'gzip.decompress': decoder(decoding.decompressed),
  'bz2.decompress': opaque,
  'lzma.decompress': opaque,
  'marshal.loads': opaque,
  'urllib.parse.unquote': decoder(decoding.percentDecoded),
  'html.unescape': opaque,
  'codecs.decode': ({ args: [text = NOTHING, form], keywords }) =>
    decodedAs(text, form ?? keywords.get('encoding')),
  'builtins.str.join': ({ args: [separator, list = NOTHING] }) => joinedBy(separator, list),
  'operator.concat': ({ args }) => concatenated(args),
  'operator.add': ({ args }) => concatenated(args),
  'functools.partial': ({ args: [callee, ...args] }) =>
    callee === undefined ? undefined : { ...NOTHING, bound: { callee, args } },
  'functools.reduce': ({ args: [callee = NOTHING, list = NOTHING, first], apply }) =>
    elementsOf(list).reduce<Value | undefined>(
      (total, one) => (total === undefined ? one : apply(callee, [total, one])),
      first,
    ),
  'operator.methodcaller': ({ args }) => ({ ...named(['operator.methodcaller()']), items: args }),
  'operator.attrgetter': ({ args }) => ({ ...named(['operator.attrgetter()']), items: args }),
  'operator.itemgetter': ({ args }) => ({ ...named(['operator.attrgetter()']), items: args }),
  'operator.attrgetter()': ({ callee, args: [object = NOTHING] }) =>
    memberThrough(object, callee.items?.[0] ?? NOTHING),
  'ctypes.CDLL': () => named(['ctypes.libc']),
  'ctypes.cdll.LoadLibrary': () => named(['ctypes.libc']),
  'ctypes.PyDLL': () => named(['ctypes.libc']),
});

/** `getattr(object, name)` */
export function memberThrough(object: Value, name: Value): Value | undefined {
  const texts = name.texts.length === 0 ? [UNKNOWN] : name.texts;
  const names = [...object.names].flatMap((of) => texts.map((text) => `${of}.${text}`));
  const entries = texts.flatMap((text) => object.entries?.get(text) ?? []);
  const hidden = [...name.origins].filter((origin) => origin !== 'read');
  if (object.names.size > 0) return named(names, [...hidden, ...keptBy(object)]);
  return entries.length > 0 ? anyOf(entries) : undefined;
}

function keptBy(object: Value): Origin[] {
  return [...object.origins].filter((origin) => origin === 'assembled' || origin === 'decoded');
}

function bytesOf(value: Value): Value {
  if (value.items === undefined) return value;
  const numbers = value.items.map(({ number }) => number);
  if (numbers.length === 0 || numbers.some((number) => number === undefined)) {
    return { ...NOTHING, origins: new Set([...handedOn([value, ...value.items]), ...DECODED]) };
  }
  return ofTexts([String.fromCharCode(...numbers.map((number) => (number ?? 0) & 0xff))], DECODED);
}

function listOf(value: Value): Value {
  const elements = elementsOf(value);
  return elements.length === 0 ? value : ofItems(elements, value.origins);
}

export function wordsOf(text: Value): Value {
  const [first] = text.texts;
  if (first === undefined) return { ...NOTHING, origins: new Set(handedOn([text])) };
  const words = first.split(/\s+/).filter((word) => word !== '');
  return ofItems(
    words.map((word) => ofTexts([word.replace(/^(['"])(.*)\1$/s, '$2')], text.origins)),
    text.origins,
  );
}
