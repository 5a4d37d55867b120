/** The names under which JavaScript's things are known here. */
import { NOTHING, named, ofNumber, ofTexts, type Value } from '../reading/values.ts';
import { table } from '../table.ts';

/** What gives something from another host. */
export const FETCHES =
  /^(fetch|axios(\.(create\(\)))?(\.(get|post|put|patch|delete|request))?|got(\.\w+)?|node-fetch|undici\.(fetch|request)|superagent\.(get|post)|needle(\.\w+)?|ky(\.\w+)?|request(\.(get|post))?|https?\.(get|request)|http2\.connect|follow-redirects\.https?\.(get|request)|net\.(connect|createConnection|createServer|Socket\(\)\.connect)|tls\.connect|WebSocket|ws|dgram\.createSocket|XMLHttpRequest\(\)\.open|navigator\.sendBeacon)$/;

const GLOBAL = /^(globalThis|global|window|self)\./;

const SAME_AS = table<string>({
  'module.require': 'require',
  'require.main': 'module',
  'process.mainModule': 'module',
  'module.constructor': 'module',
  'module.prototype': 'module',
  'module.__proto__': 'module',
  'Reflect.construct': 'Reflect.apply',
});

/** One name for a thing that has several. */
export function canonical(name: string): string {
  const plain = name
    .replace(/\.default(?=\.|$)/g, '')
    .replace(GLOBAL, '')
    .replace(GLOBAL, '')
    .replace(/^(fs\/promises|fs\.promises|fs-extra|graceful-fs)(?=\.|$)/, 'fs')
    .replace(/^path(\/|\.)(posix|win32)(?=\.|$)/, 'path')
    .replace(/^vm2\b/, 'vm')
    .replace(/^module\.Module\b/, 'module')
    .replace(/^node-fetch\.fetch$/, 'fetch');
  return SAME_AS[plain] ?? plain;
}

export function globalNamed(name: string): Value {
  switch (name) {
    case '__dirname':
      return ofTexts(['.']);
    case 'global':
    case 'window':
    case 'self':
      return named(['globalThis']);
    case 'this':
      return NOTHING;
    case 'Infinity':
      return ofNumber(Number.POSITIVE_INFINITY);
    default:
      return named([name]);
  }
}

/** As in the wrappers that bundlers make. */
export function isAmbient(name: string): boolean {
  return name === 'require' || name === 'module' || name === 'process';
}

/** The constructor of what may be a function or any other object. */
export const OF_AN_OBJECT = 'object.constructor';

/** What the program itself gives things to. */
export function isFilled(name: string): boolean {
  return name === 'exports' || name === 'module' || name === 'module.exports' || name === 'globalThis';
}

export function memberOf(object: Value, property: string): Value | undefined {
  if (property === 'constructor') {
    if (object.names.has('module')) return named(['module']);
    const isFunction =
      object.functions.length > 0 ||
      [...object.names].some((name) => /^(constructor$|Function\b)/.test(name));
    if (isFunction) return named(['Function', 'constructor']);
    return named(object.names.size > 0 ? ['Function', 'constructor', OF_AN_OBJECT] : ['constructor']);
  }
  if (property === 'length') {
    const length = object.items?.length ?? object.texts[0]?.length;
    return length === undefined ? undefined : ofNumber(length);
  }
  if (object.names.has('process')) {
    if (property === 'env') return named(['process.env'], ['environment']);
    if (property === 'execPath') return ofTexts(['node']);
    if (property === 'argv')
      return {
        ...named(['process.argv'], ['asked']),
        items: [ofTexts(['node']), named(['__filename']), named([], ['asked'])],
      };
  }
  if (object.names.has('process.env')) {
    return property === 'HOME' || property === 'USERPROFILE' ? ofTexts(['~']) : { ...NOTHING, isOpen: true };
  }
  if (property === 'stdin' && [...object.names].some((name) => /^child_process\.\w+\(\)$/.test(name)))
    return { ...object, names: new Set([...object.names].map((name) => `${name}.stdin`)) };
  if (object.names.has('os.userInfo()') && property === 'homedir') return ofTexts(['~']);
  if (object.names.has('path') && property === 'sep') return ofTexts(['/']);
  return undefined;
}
