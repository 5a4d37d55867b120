/** Interpreters that are started before there is a program for them: what starts one, and what it is told then. */
import type { Language } from '../language.ts';
import { BECOME_MAIN } from './becomeMain.ts';
import { holderCode, holderObject } from './holder/holder.ts';
import { WAITING_NODE, WAITING_PYTHON, WAITING_SHELL } from './scripts.ts';

/** The one line that it writes on its standard output when it waits, before any program is there. */
export const READY = '\x06\n';

/** Where things are, as the interpreter sees them. */
export interface WaitingPlace {
  readonly interpreter: string;
  /** The program's file. */
  readonly file: string;
  /** A file that is read only while the interpreter starts. */
  readonly preload: string;
  /** The variables that a program gets at least; those that an interpreter looks at when it starts are as in these. */
  readonly environment: Readonly<Record<string, string>>;
  /** Modules to import meanwhile. */
  readonly modules: readonly string[];
}

/** Orders for Python are as long at least, see waiting.py. */
const BLOCK_BYTES = 4096;

/** Text that is longer is rather read from the file: a pipe takes no more at once. */
export const LONGEST_CODE_BYTES = 32 * 1024;

/** What the program is, once there is one. */
export interface Orders {
  /** The arguments after the program's file. */
  readonly argv: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Whether what follows the orders is the program's standard input; it has `/dev/null` otherwise. Also the path of a file
   * that is its input, or how many bytes of what follows are to be such a file: it has no name any more when the program
   * begins.
   */
  readonly stdin: boolean | string | { readonly bytes: number };
  /**
   * Files to write before, by their paths, with their lengths: what is in them follows the orders, one after another.
   * Python and Node.js do so.
   */
  readonly files?: readonly (readonly [path: string, bytes: number])[];
  /** What is in the program's file, so that it need not be read. Only Python looks at it. */
  readonly code?: string;
}

export interface WaitingInterpreter {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** What must stand in the program's file while the interpreter starts, where it looks. */
  readonly code?: string;
  /** What must stand in the preload file then, where it looks; later it may be empty, and must not be gone. */
  readonly preload?: string;
  /** The orders as it reads them, on its standard input. */
  encode(orders: Orders): Uint8Array;
  /** Orders that are only answered with {@link READY}, where it takes such. */
  readonly rehearsal?: Uint8Array;
}

/** How an interpreter of this language is made to wait. Pure. */
export function waitingInterpreter(language: Language, place: WaitingPlace): WaitingInterpreter {
  const { interpreter, file, preload, environment } = place;
  const names = JSON.stringify(place.modules.filter((name) => MODULE_NAME.test(name)));
  // Without arguments it is the very command line of the program, as other programs see it.
  const argv = language.command(interpreter, file, []);
  switch (language.name) {
    case 'python':
      return {
        argv,
        env: environment,
        code: asProgram(
          BECOME_MAIN +
            WAITING_PYTHON.replace('__HOLDER__', holderCode().toString('hex')).replace('__MODULES__', names),
        ),
        encode: (orders) => filledUp(encodeJson(orders)),
        rehearsal: filledUp(new Uint8Array()),
      };
    case 'javascript':
      return {
        argv,
        env: { ...environment, NODE_OPTIONS: `--require=${preload}`, GLOVEBOX_WAITING: '1' },
        preload: WAITING_NODE.replace('__MODULES__', names).replace('__HOLDER__', holderObject()),
        encode: encodeJson,
      };
    case 'shell':
      return {
        argv: [interpreter, '--norc', '--noprofile', '-c', WAITING_SHELL],
        env: environment,
        encode: (orders) => encodeForShell(orders, argv, environment),
      };
  }
}

/**
 * The same program in a text: of that Python has given back what it has parsed before it waits. Otherwise it keeps it to
 * the program's end, and copies each page of it when it becomes another one.
 */
export function asProgram(source: string): string {
  return `exec(compile(${JSON.stringify(source)}, __file__, 'exec'))\n`;
}

/** Names of modules, with those that they are in; nothing else comes into a script. */
const MODULE_NAME = /^[\w./:@-]+$/;

/** Four bytes with the length, the highest first, then JSON. */
function encodeJson(orders: Orders): Uint8Array {
  const text = Buffer.from(JSON.stringify(orders, (_name, value: unknown) => asTheKernelHasIt(value)));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, text]);
}

function filledUp(orders: Uint8Array): Uint8Array {
  return Buffer.concat([orders, Buffer.alloc(Math.max(0, BLOCK_BYTES - orders.length))]);
}

/** Half of a surrogate pair is replaced where a program is started: no bytes are it in UTF-8, and JSON would keep it. */
function asTheKernelHasIt(value: unknown): unknown {
  return typeof value === 'string' ? Buffer.from(value).toString() : value;
}

/** Words that end with a NUL each, and a count before each list of them. */
function encodeForShell(
  { argv, env, stdin }: Orders,
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
): Uint8Array {
  const changed = Object.entries(env).filter(([name, value]) => environment[name] !== value);
  const isOfBash = ([name]: readonly [string, string]): boolean =>
    OF_BASH.test(name) || !IDENTIFIER.test(name);
  const assignments = (list: readonly (readonly [string, string])[]): string[] =>
    list.map(([name, value]) => `${name}=${value}`);
  const isolated = assignments(changed.filter(isOfBash));
  const words = [
    ...(isolated.length === 0 ? [] : ['/usr/bin/env', '-u', 'SHLVL', ...isolated]),
    ...command,
    ...argv,
  ];
  const lists = [
    Object.keys(environment).filter((name) => !(name in env)),
    assignments(changed.filter((entry) => !isOfBash(entry))),
    words,
  ];
  const input =
    typeof stdin === 'object' ? `${stdin.bytes} bytes` : typeof stdin === 'string' ? stdin : Number(stdin);
  const fields = [input, ...lists.flatMap((list) => [String(list.length), ...list])];
  return Buffer.from(fields.map((field) => `${field}\0`).join(''));
}

const IDENTIFIER = /^[A-Za-z_]\w*$/;

/** Variables that bash would not take as they are: its own, and those of the locale, which it tries to follow. */
const OF_BASH =
  /^(?:BASH\w*|COMP_\w*|DIRSTACK|E?UID|EPOCH\w*|FUNCNAME|GROUPS|HIST\w*|IFS|LANG|LANGUAGE|LC_\w*|LINENO|OLDPWD|OPT\w*|PIPESTATUS|POSIXLY_CORRECT|PPID|PS\d|PWD|S?RANDOM|SECONDS|SHELLOPTS|SHLVL|_|count|stdin|taken|word)$/;
