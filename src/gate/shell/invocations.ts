/** What shells and interpreters are told to run, by their arguments. Pure. */
import type { LanguageName } from '../../languages/language.ts';
import { table } from '../table.ts';

export type Invocation =
  | { readonly kind: 'text'; readonly text: string; readonly args: readonly string[] }
  | { readonly kind: 'file'; readonly file: string; readonly args: readonly string[] }
  /** What flows in. */
  | { readonly kind: 'fed'; readonly args: readonly string[] }
  /** A module of the interpreter, or only a question to it. */
  | { readonly kind: 'other' };

/** Shells run a text, a file or what flows in. */
export const SHELLS: ReadonlySet<string> = new Set([
  ...['sh', 'bash', 'dash', 'zsh', 'ksh', 'mksh', 'ash', 'rbash', 'fish', 'csh', 'tcsh'],
  'busybox',
]);

const FED: ReadonlySet<string> = new Set(['-', '/dev/stdin', '/dev/fd/0', '/proc/self/fd/0']);

export const isStandardInput = (path: string): boolean => FED.has(path);

export function shellInvocation(args: readonly string[]): Invocation {
  let [isText, isFed] = [false, false];
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at] ?? '';
    if (!/^[-+]./.test(arg) || arg === '--') {
      // For a shell, a hyphen alone ends the options as well.
      if (arg === '--' || arg === '-') at++;
      break;
    }
    if (/^--(rcfile|init-file)$/.test(arg) || /^[-+][a-zA-Z]*[oO]$/.test(arg)) at++;
    if (/^-[a-zA-Z]+$/.test(arg)) {
      isText ||= arg.includes('c');
      isFed ||= arg.includes('s');
    }
  }
  const [first, ...rest] = args.slice(at);
  if (isText) return first === undefined ? { kind: 'other' } : { kind: 'text', text: first, args: rest };
  if (isFed) return { kind: 'fed', args: first === undefined ? [] : [first, ...rest] };
  return first === undefined || isStandardInput(first)
    ? { kind: 'fed', args: rest }
    : { kind: 'file', file: first, args: rest };
}

export interface Interpreter {
  readonly language?: LanguageName;
  /** Options for code, which may be attached as the group. */
  readonly code: RegExp;
  /** Options that take a value of their own. */
  readonly withValue?: RegExp;
  /** Options with which it does something else. */
  readonly other?: RegExp;
}

export const INTERPRETERS = table<Interpreter>({
  python: {
    language: 'python',
    code: /^-[bBdEhiIOqsSuvx]*c(.*)$/s,
    withValue: /^(-[bBdEhiIOqsSuvx]*[WX]|--check-hash-based-pycs)$/,
    other: /^-[bBdEhiIOqsSuvx]*m|^(-V+|--version|--help)$/,
  },
  node: {
    language: 'javascript',
    code: /^(?:-(?:e|p|pe)|--(?:eval|print)(?:=(.*))?)$/s,
    withValue:
      /^(-[rC]|--(require|import|loader|experimental-loader|conditions|title|input-type|stack-size))$/,
    other: /^(-v|--version|--help|--test)$/,
  },
  deno: { language: 'javascript', code: /^eval$/ },
  bun: { language: 'javascript', code: /^(?:-(?:e|p)|--(?:eval|print)(?:=(.*))?)$/s },
  perl: { code: /^-[acilnpstuwWX0-9]*[eE](.*)$/s },
  ruby: { code: /^-[acdlnpswW0-9]*e(.*)$/s, withValue: /^-[IrC]$/ },
  php: { code: /^-[nq]*r(.*)$/s, withValue: /^-[cdz]$/ },
  lua: { code: /^-e(.*)$/s, withValue: /^-l$/ },
});

/** Names by which the same interpreter goes. */
const ALSO = table<string>({ pypy: 'python', nodejs: 'node' });

/** The name without its folder and its version: `/usr/bin/python3.11` is `python`. */
export function plainName(name: string): string {
  const base = name.replace(/^.*\//, '');
  const plain = /^(python|pypy|pip|ruby|php|perl|lua)[\d.]*$/.exec(base)?.[1] ?? base;
  return ALSO[plain] ?? plain;
}

export function interpreterInvocation(
  { code, withValue, other }: Interpreter,
  args: readonly string[],
): Invocation {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? '';
    const match = code.exec(arg);
    if (match !== null) {
      const rest = args.slice(at + 1);
      if (match[1]) return { kind: 'text', text: match[1], args: rest };
      const next = arg === 'eval' ? rest.findIndex((one) => !one.startsWith('-')) : 0;
      const text = rest[next];
      return text === undefined ? { kind: 'other' } : { kind: 'text', text, args: rest.slice(next + 1) };
    }
    if (other?.test(arg)) return { kind: 'other' };
    if (withValue?.test(arg)) at++;
    else if (isStandardInput(arg)) return { kind: 'fed', args: args.slice(at + 1) };
    // `run` is a command of `deno` and `bun`.
    else if (!arg.startsWith('-') && arg !== 'run')
      return { kind: 'file', file: arg, args: args.slice(at + 1) };
  }
  return { kind: 'fed', args: [] };
}
