/** The names under which Python's things are known here. */
import type { Call } from '../reading/language.ts';
import { NOTHING, named, ofNumber, ofTexts, type Value } from '../reading/values.ts';
import { table } from '../table.ts';

/** What gives something from another host. */
export const FETCHES =
  /^((requests|httpx)(\.(Session|session|Client|AsyncClient)\(\))?\.(get|post|put|patch|delete|head|request|stream)|urllib\.request\.(urlopen|build_opener\(\)\.open)|urllib2?\.urlopen|urllib3\.(PoolManager\(\)\.request|request)|aiohttp\.ClientSession\(\)\.(get|post|request)|http\.client\.HTTPS?Connection\(\)\.getresponse|ftplib\.FTP(_TLS)?\(\)\.\w+|socket\.(socket|create_connection)\(\)\.(recv|recvfrom|makefile)|socket\.socket\(\)\.accept\(\)\.0\.recv|telnetlib\.Telnet\(\)\.read\w*|paramiko\.SSHClient\(\)\.exec_command|wget\.download)$/;

/** The module that `__import__(...)` and the like are asked for; a relative one is the program's own. */
export function moduleImportedBy({ args: [first], keywords }: Call): Value {
  const module = first ?? keywords.get('name') ?? NOTHING;
  return { ...module, texts: module.texts.filter((text) => !text.startsWith('.')) };
}

/** One name for a thing that has several. */
export function canonical(name: string): string {
  let plain = name
    .replace(/^(builtins\.)?__builtins__\b/, 'builtins')
    .replace(/^(builtins|sys\.modules|globals\(\))\.(__builtins__|builtins)\b/, 'builtins')
    .replace(/^globals\(\)\./, 'builtins.')
    .replace(/^sys\.modules\.(\w+)/, '$1')
    .replace(/\.__dict__(\.|$)/g, '$1')
    .replace(/^[\w.]+\.(?=(os|sys|subprocess|builtins)(\.|$))/, '')
    .replace(/^(posix|nt)\b/, 'os')
    .replace(/^_(socket|io|pickle)\b/, '$1')
    .replace(/^cPickle\b|^dill\b|^cloudpickle\b/, 'pickle')
    .replace(/^urllib3?\.request\.URLopener/, 'urllib.request');
  if (plain.startsWith('builtins.') && /^builtins\.(os|sys|subprocess|socket|shutil)(\.|$)/.test(plain))
    plain = plain.slice('builtins.'.length);
  return plain;
}

export function globalNamed(name: string): Value {
  switch (name) {
    case '__file__':
      return named(['__file__']);
    case '__builtins__':
      return named(['builtins']);
    default:
      return named([`builtins.${name}`]);
  }
}

export function memberOf(object: Value, property: string): Value | undefined {
  const everybodys = OF_EVERYTHING[property];
  if (everybodys !== undefined) return named([everybodys]);
  if (object.names.has('sys')) {
    if (property === 'executable') return { ...ofTexts(['python3']), names: new Set(['sys.executable']) };
    if (property === 'argv')
      return { ...named(['sys.argv'], ['asked']), items: [named(['__file__']), named([], ['asked'])] };
  }
  if (object.names.has('os')) {
    if (property === 'environ') return named(['os.environ'], ['environment']);
    if (property === 'sep') return ofTexts(['/']);
    const flag = FLAGS[property];
    if (flag !== undefined) return ofNumber(flag);
  }
  if (object.names.has('stat')) {
    const bits = STAT_BITS[property];
    if (bits !== undefined) return ofNumber(bits);
  }
  if (object.names.has('subprocess.Popen()') && property === 'stdin')
    return { ...object, names: new Set(['subprocess.Popen().stdin']) };
  if (object.names.has('os.environ') && property === 'HOME') return ofTexts(['~']);
  if (object.names.has('os.DirEntry') && property === 'path') return { ...object, names: new Set() };
  if (object.names.has('builtins.open()') && property === 'name') return { ...object, names: new Set() };
  if (object.names.has('pathlib.Path()')) {
    if (property === 'parent') return { ...named(['pathlib.Path()']), isOpen: true };
    if (property === 'name') return named([]);
  }
  return undefined;
}

/** Attributes by which any object leads to all that the interpreter has loaded. */
const OF_EVERYTHING = table<string>({
  ...{ __base__: 'object()', __bases__: 'object()', __mro__: 'object()' },
  ...{ __globals__: 'globals()', __builtins__: 'builtins' },
});

/** What a parameter is mostly given. */
export function isAmbient(): boolean {
  return false;
}

/** What the program itself gives things to. */
export function isFilled(): boolean {
  return false;
}

const FLAGS = table<number>({
  O_RDONLY: 0,
  O_WRONLY: 1,
  O_RDWR: 2,
  O_CREAT: 64,
  O_EXCL: 128,
  O_TRUNC: 512,
  O_APPEND: 1024,
});
const STAT_BITS = table<number>({
  ...{ S_IXUSR: 0o100, S_IXGRP: 0o010, S_IXOTH: 0o001, S_IEXEC: 0o100, S_IRWXU: 0o700 },
  ...{ S_ISUID: 0o4000, S_ISGID: 0o2000 },
});
