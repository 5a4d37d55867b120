/** What commands print, where their arguments and what they are fed say it. */

import { namesCredentials, namesEnvironmentFile } from '../places.ts';
import { fromBase64, fromHex, fromUtf8, reversed } from '../reading/decoding.ts';
import { UNKNOWN } from '../reading/values.ts';
import { decodes, placesOfFind } from './commands.ts';

export interface Printed {
  readonly text: string;
  /** Written with escapes for what any keyboard has. */
  readonly isDisguised: boolean;
}

/** Undefined for what is not known. */
export function printedBy(
  name: string,
  args: readonly string[],
  fed: string | undefined,
): Printed | undefined {
  switch (name) {
    case 'echo':
      return echoed(args);
    case 'printf':
      return formatted(args);
    case 'find':
      return plain(`${foundBy(args).join('\n')}\n`);
    case 'ls': {
      const paths = args.filter((arg) => !arg.startsWith('-'));
      const isAsNamed = args.some((arg) => /^-[a-zA-Z]*d/.test(arg));
      return isAsNamed && paths.length > 0 ? plain(`${paths.join('\n')}\n`) : undefined;
    }
    case 'command':
    case 'which':
      return plain(`${args.at(-1) ?? ''}\n`);
    case 'head':
    case 'tail':
    case 'sort':
    case 'uniq':
      return fed === undefined ? undefined : plain(fed);
    case 'grep':
      return fed === undefined || args.some((arg) => /^-[a-zA-Z]*[vcoql]/.test(arg)) ? undefined : plain(fed);
    case 'cat':
      return args.every((arg) => arg.startsWith('-')) && fed !== undefined ? plain(fed) : undefined;
    case 'tee':
      return fed === undefined ? undefined : plain(fed);
    default: {
      if (fed === undefined || fed.includes(UNKNOWN)) return undefined;
      const decoded = decodedBy(name, args, fed);
      return decoded === undefined || decoded === null ? undefined : plain(decoded);
    }
  }
}

/** The places in which `find` looks, with the file that it looks for where its name tells something. */
export function foundBy(args: readonly string[]): readonly string[] {
  const places = placesOfFind(args);
  const where = places.length === 0 ? ['.'] : places;
  const name = args.find(
    (arg, i) => args[i - 1] === '-name' && (namesCredentials(arg) || namesEnvironmentFile(arg)),
  );
  return name === undefined ? where : where.map((place) => `${place}/${name}`);
}

const plain = (text: string): Printed => ({ text, isDisguised: false });

function decodedBy(name: string, args: readonly string[], fed: string): string | null | undefined {
  switch (name) {
    case 'base64':
      return decodes(name, args) ? utf8(fromBase64(fed)) : undefined;
    case 'openssl':
      return decodes(name, args) && args.some((arg) => /base64/.test(arg))
        ? utf8(fromBase64(fed))
        : undefined;
    case 'xxd':
      return decodes(name, args) ? utf8(fromHex(fed)) : undefined;
    case 'rev':
      return fed.split('\n').map(reversed).join('\n');
    case 'tr':
      return translated(args, fed);
    default:
      return undefined;
  }
}

function utf8(bytes: string | null): string | null {
  return bytes === null ? null : fromUtf8(bytes);
}

function echoed(args: readonly string[]): Printed {
  const options = args.findIndex((arg) => !/^-[neE]+$/.test(arg));
  const isEscaped = args.slice(0, Math.max(0, options)).some((arg) => arg.includes('e'));
  const said = `${args.slice(Math.max(0, options)).join(' ')}\n`;
  return isEscaped ? unescaped(said) : plain(said);
}

function formatted([format = '', ...values]: readonly string[]): Printed {
  const { text, isDisguised } = unescaped(format);
  const isEscaped = format.includes('%b');
  const isRepeated = /%[sbdq]/.test(text);
  let [next, filled] = [0, ''];
  // The format is used again until no value is left.
  do filled += text.replaceAll(/%[sbdq]|%%/g, (one) => (one === '%%' ? '%' : (values[next++] ?? '')));
  while (isRepeated && next < values.length && filled.length < MAX_FILLED);
  return isEscaped ? unescaped(filled) : { text: filled, isDisguised };
}

const MAX_FILLED = 64 * 1024;

const ESCAPE = /\\(?:x([\da-fA-F]{1,2})|0?([0-7]{2,3})|([ntr\\]))/g;
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\\': '\\' };

function unescaped(text: string): Printed {
  let isDisguised = false;
  const result = text.replace(ESCAPE, (_whole, hex?: string, octal?: string, control?: string) => {
    if (control !== undefined) return CONTROLS[control] ?? '';
    const code = hex === undefined ? Number.parseInt(octal ?? '0', 8) & 0xff : Number.parseInt(hex, 16);
    isDisguised ||= code > 0x20 && code < 0x7f;
    return String.fromCharCode(code);
  });
  return { text: result, isDisguised };
}

/** `tr SET SET`, `tr -d SET` */
function translated(args: readonly string[], text: string): string | undefined {
  const options = args.filter((arg) => arg.startsWith('-') && arg.length > 1);
  const [from, to] = args.filter((arg) => !options.includes(arg)).map(charactersOf);
  if (from === undefined || options.some((option) => option !== '-d')) return undefined;
  if (options.length > 0) return [...text].filter((one) => !from.includes(one)).join('');
  if (to === undefined || to.length === 0) return undefined;
  const places = new Map(from.map((one, i) => [one, i]));
  return [...text]
    .map((one) => {
      const at = places.get(one);
      return at === undefined ? one : (to[Math.min(at, to.length - 1)] ?? one);
    })
    .join('');
}

function charactersOf(set: string): string[] {
  return [
    ...set.replace(/(.)-(.)/gs, (_whole, first: string, last: string) => {
      const [low, high] = [first.charCodeAt(0), last.charCodeAt(0)];
      if (high < low || high - low > 255) return '';
      return Array.from({ length: high - low + 1 }, (_one, i) => String.fromCharCode(low + i)).join('');
    }),
  ];
}
