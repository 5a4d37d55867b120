/** What a script has set so far, as far as it says it. */
import type { Assignment, ParsedScript, SyntaxNode } from 'unbash';
import { isWide } from '../places.ts';
import { expand, type Reading, textOf } from './words.ts';

const MAX_VALUE = 64 * 1024;
const MAX_LIST = 256;
const POSITIONS = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];

export class ShellState implements Reading {
  readonly variables = new Map<string, string>();
  readonly lists = new Map<string, readonly string[]>();
  readonly references = new Map<string, string>();
  readonly functions = new Map<string, SyntaxNode>();
  readonly printed: Reading['printed'];
  #folder: string | undefined;

  constructor(printed: (script: ParsedScript) => string | undefined) {
    this.printed = printed;
  }

  /** How much there is to copy. */
  get size(): number {
    return this.variables.size + this.lists.size + this.functions.size + this.references.size;
  }

  copyFrom({ variables, lists, references, functions }: ShellState): void {
    for (const [name, value] of variables) this.variables.set(name, value);
    for (const [name, value] of lists) this.lists.set(name, value);
    for (const [name, target] of references) this.references.set(name, target);
    for (const [name, body] of functions) this.functions.set(name, body);
  }

  /** Does something with other arguments, and has the former ones again behind it. */
  giving<Result>(args: readonly string[], self: string | undefined, action: () => Result): Result {
    const [before, own] = [this.lists.get('@') ?? [], this.variables.get('0')];
    this.give(args);
    if (self !== undefined) this.variables.set('0', self);
    const result = action();
    this.give(before);
    if (own === undefined) this.variables.delete('0');
    else this.variables.set('0', own);
    return result;
  }

  /** The variables that `read` fills, the last one with all that is left. */
  fill(names: readonly string[], text: string): void {
    const line = text.split('\n', 1)[0]?.trim() ?? '';
    const words = line.split(/[ \t]+/);
    for (const [i, name] of names.entries()) {
      const isLast = i === names.length - 1;
      this.variables.set(name, isLast ? words.slice(i).join(' ') : (words[i] ?? ''));
    }
  }

  list(name: string, values: readonly string[]): void {
    this.lists.set(name, values.slice(0, MAX_LIST));
    this.variables.set(name, values[0] ?? '');
  }

  assign({ name, value, append }: Assignment): void {
    if (value.type === 'Word') {
      const before = append ? (this.variables.get(name) ?? '') : '';
      this.variables.set(name, `${before}${textOf(value, this)}`.slice(0, MAX_VALUE));
      return;
    }
    const words = value.elements.flatMap((word) => expand(word, this));
    const all = [...(append ? (this.lists.get(name) ?? []) : []), ...words].slice(0, MAX_LIST);
    this.lists.set(name, all);
    this.variables.set(name, all[0] ?? '');
  }

  /** `declare -n name=target` */
  refer({ name, value }: Assignment): void {
    if (value.type === 'Word') this.references.set(name, textOf(value, this));
  }

  /** `$1`, `$2`, … and `$@` */
  give(args: readonly string[]): void {
    for (const [i, name] of POSITIONS.entries()) {
      const arg = args[i];
      if (arg === undefined) this.variables.delete(name);
      else this.variables.set(name, arg);
    }
    this.lists.set('@', args.slice(0, MAX_LIST));
  }

  goTo(target: string | undefined): void {
    if (target === undefined) this.#folder = '~';
    else if (/^[/~]/.test(target)) this.#folder = target;
    else
      this.#folder = this.#folder === undefined || target === '-' ? undefined : `${this.#folder}/${target}`;
  }

  /** A path as seen from anywhere, where that can be told. */
  absolute(path: string): string | undefined {
    if (this.#folder === undefined || /^[/~]/.test(path)) return undefined;
    return `${this.#folder.slice(0, MAX_FOLDER)}/${path.replace(/^(\.\/)+/, '')}`;
  }

  /** The arguments as seen from the folder that the script went to, where everything below is somebody's. */
  placed(name: string, args: readonly string[]): readonly string[] {
    const folder = this.#folder?.slice(0, MAX_FOLDER);
    if (folder === undefined || !IN_FOLDER.has(name)) return args;
    return args.map((arg) => {
      const placed = `${folder}/${arg}`;
      return /^[-/~]/.test(arg) || !isWide(placed) ? arg : placed;
    });
  }
}

const MAX_FOLDER = 1024;
const IN_FOLDER: ReadonlySet<string> = new Set([
  ...['rm', 'find', 'chmod', 'chown', 'shred', 'mv', 'unlink', 'rmdir', 'truncate'],
]);
