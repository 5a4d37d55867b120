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
  readonly functions = new Map<string, SyntaxNode>();
  readonly printed: Reading['printed'];
  #folder: string | undefined;

  constructor(printed: (script: ParsedScript) => string | undefined) {
    this.printed = printed;
  }

  /** How much there is to copy. */
  get size(): number {
    return this.variables.size + this.lists.size;
  }

  copyFrom({ variables, lists }: ShellState): void {
    for (const [name, value] of variables) this.variables.set(name, value);
    for (const [name, value] of lists) this.lists.set(name, value);
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
const IN_FOLDER: ReadonlySet<string> = new Set(['rm', 'find', 'chmod', 'chown', 'shred', 'mv']);
