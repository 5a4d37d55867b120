/** Paths of Python: texts, and objects of `pathlib`. */
import type { Call } from '../reading/language.ts';
import { concatenated, handedOn, mapTexts, NOTHING, ofItems, type Value } from '../reading/values.ts';

export const PATH = 'pathlib.Path()';

/** `os.path.join(...)` */
export function joinedPath(args: readonly Value[]): Value {
  const parts = args.filter(({ texts }) => !texts.includes(''));
  const absolute = parts.findLastIndex(({ texts }) => texts.some((text) => /^[/~]/.test(text)));
  const joined = concatenated(parts.slice(Math.max(0, absolute)), '/');
  const value = mapTexts(joined, (text) => text.replace(/([^/])\/{2,}/g, '$1/').replace(/^\/{2,}/, '/'));
  return { ...value, origins: new Set(handedOn(args)) };
}

/** What a method of a path gives; undefined where that is not known. */
export function ofPathMethod(method: string, { receiver = NOTHING, args }: Call): Value | undefined {
  const asPath = (value: Value): Value => ({ ...value, names: new Set([PATH]) });
  switch (method) {
    case 'joinpath':
      return asPath(joinedPath([receiver, ...args]));
    case 'expanduser':
    case 'resolve':
    case 'absolute':
      return receiver;
    case 'glob':
    case 'rglob':
      return ofItems([asPath(joinedPath([receiver, args[0] ?? NOTHING]))]);
    case 'iterdir':
      return ofItems([asPath(joinedPath([receiver, NOTHING]))]);
    case 'open':
      return { ...receiver, names: new Set(['builtins.open()']), origins: new Set(['read']) };
    case 'read_text':
    case 'read_bytes':
      return { ...NOTHING, origins: new Set(['read']) };
    case 'as_posix':
    case '__str__':
      return { ...receiver, names: new Set() };
    default:
      return undefined;
  }
}
