/** What commands print, where their arguments and what they are fed say it. */
import { fromBase64, fromHex, fromUtf8, reversed } from '../reading/decoding.ts';
import { UNKNOWN } from '../reading/values.ts';
import { decodes } from './commands.ts';

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
    case 'find': {
      const where = args.find((arg) => !arg.startsWith('-'));
      return where === undefined ? undefined : plain(where);
    }
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
  let next = 0;
  const isEscaped = format.includes('%b');
  const filled = text.replaceAll(/%[sbd]/g, () => values[next++] ?? '');
  return isEscaped ? unescaped(filled) : { text: filled, isDisguised };
}

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
  return [...text]
    .map((one) => {
      const at = from.lastIndexOf(one);
      return at < 0 ? one : (to[Math.min(at, to.length - 1)] ?? one);
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
