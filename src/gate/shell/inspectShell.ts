/**
 * Reads a shell script's syntax tree for what it seems to do: through pipes, substitutions, here-documents, `eval`,
 * `sh -c` and the variables that the script sets itself. It informs; whoever wants to hide something can.
 */
import {
  type Command,
  forEachChild,
  type HereDoc,
  type HereString,
  type ParsedScript,
  type Pipeline,
  parse,
  type Redirect,
  type SyntaxNode,
} from 'unbash';
import type { LanguageName } from '../../languages/language.ts';
import type { Effect } from '../effects.ts';
import { type Observed, Observer, STDIN } from '../observer.ts';
import { namesCredentials, writingTo } from '../places.ts';
import { UNKNOWN } from '../reading/values.ts';
import { table } from '../table.ts';
import { WrittenFiles } from '../writtenFiles.ts';
import { callsItselfTwice, isEndlessBomb } from './bombs.ts';
import {
  connectsTo,
  decodes,
  doingsOf,
  fetchedInto,
  fetches,
  INTERPRETERS,
  plainName,
  readsCredentials,
  SHELLS,
  writtenBy,
} from './commands.ts';
import { printedBy } from './printed.ts';
import { ShellState } from './state.ts';
import { expand, SUBSTITUTED, textOf, valueOfParts } from './words.ts';
import { startedBy, WRAPPERS } from './wrappers.ts';

/** Scripts in scripts: deeper ones are told as hiding what they do. */
const MAX_DEPTH = 8;

/** Never throws for any code. The files are those that other code has written before. */
export function inspectShell(code: string, files = new WrittenFiles()): Observed {
  const observer = new Observer(files);
  const inspector = new Inspector(code, observer, { left: MAX_WORK, isTold: false });
  try {
    inspector.script(parse(code), 0);
  } catch (error) {
    // RangeError: nested too deeply for the stack.
    if (!(error instanceof RangeError)) throw error;
    observer.hides({ name: 'the script', line: 1 }, 'is nested too deeply to be read');
  }
  return observer;
}

/** In commands looked at and characters read, so that loops in loops and texts of texts end. */
const MAX_WORK = 2_000_000;
const WORK_FOR_COMMAND = 50;

interface Work {
  left: number;
  isTold: boolean;
}

/** What flows into a command from the one before it in a pipe, or from a here-document. */
interface Input {
  /** It may be what the script itself is given to read. */
  readonly isOwn: boolean;
  readonly isFetched: boolean;
  readonly isDecoded: boolean;
  /** What a shell says that takes its commands from somebody. */
  readonly isShell: boolean;
  /** The text, where the script says it. */
  readonly text: string | undefined;
}

const NOTHING: Input = { isOwn: false, isFetched: false, isDecoded: false, isShell: false, text: undefined };
const OWN: Input = { ...NOTHING, isOwn: true };

class Inspector {
  readonly #observer: Observer;
  readonly #work: Work;
  readonly #state: ShellState;
  /** Where the scripts that we are in begin, the outermost one first: a nested text has its own positions. */
  readonly #lineStarts: number[];
  #nested: number | undefined;
  readonly #calls = new Map<SyntaxNode, Set<string>>();
  #callDepth = 0;

  constructor(code: string, observer: Observer, work: Work) {
    this.#observer = observer;
    this.#work = work;
    this.#lineStarts = [0, ...[...code.matchAll(/\n/g)].map(({ index }) => index + 1)];
    this.#state = new ShellState((script) => this.#printedBy(script));
  }

  script(script: ParsedScript, depth: number): void {
    this.#visit(script, depth);
  }

  #visit(node: SyntaxNode, depth: number): void {
    if (!this.#mayGoOn(node.pos)) return;
    switch (node.type) {
      case 'Command':
        this.#command(node, OWN, depth);
        return;
      case 'Pipeline':
        this.#pipeline(node, depth);
        return;
      case 'Function':
        this.#state.functions.set(node.name.value, node.body);
        if (callsItselfTwice(node.name.value, node)) {
          this.#see('exhausts_resources', node.name.value, node.pos, 'starts itself again and again', true);
        }
        break;
      case 'While':
        if (isEndlessBomb(node)) {
          this.#see('exhausts_resources', 'while', node.pos, 'starts programs without end', true);
        }
        break;
      case 'For':
        // The last value is as good as any; all of them are looked at.
        for (const word of node.wordlist ?? []) {
          for (const value of expand(word, this.#state)) {
            this.#state.variables.set(node.name.value, value);
            this.#visit(node.body, depth);
          }
        }
        break;
      case 'Redirected':
        for (const redirect of node.redirects) this.#redirect(redirect, node.pos, NOTHING);
        break;
      default:
    }
    forEachChild(node, (child) => this.#visit(child, depth));
  }

  #pipeline(pipeline: Pipeline, depth: number): void {
    let input = OWN;
    for (const command of pipeline.commands) {
      if (command.type === 'Command') input = this.#command(command, input, depth);
      else {
        this.#visit(command, depth);
        input = { ...input, text: undefined };
      }
    }
  }

  /** Returns what it hands on to the next one. */
  #command(command: Command, input: Input, depth: number): Input {
    // With names such as `local` or `export` they stand behind.
    for (const part of [...command.prefix, ...command.args])
      if (part.type === 'Assignment') this.#state.assign(part);
    // Substitutions run, whatever is done with what they print.
    forEachChild(command, (child) => this.#visitNested(child, depth));
    let fed = input;
    for (const redirect of command.redirects) fed = this.#fedBy(redirect) ?? fed;
    const words = command.name === undefined ? [] : this.#wordsOf(command);
    const given = this.#argv(words, fed, command.pos, depth);
    for (const redirect of command.redirects) this.#redirect(redirect, command.pos, given);
    return given;
  }

  /** A function of the script's own, with what it is given. */
  #called(body: SyntaxNode, args: readonly string[], depth: number): void {
    // Once for what it is given: functions that call others many times would take very long.
    const made = this.#calls.get(body) ?? new Set();
    const given = args.join(' ');
    if (made.has(given) || this.#callDepth >= MAX_DEPTH) return;
    this.#calls.set(body, made.add(given));
    this.#callDepth++;
    const before = this.#state.lists.get('@') ?? [];
    this.#state.give(args);
    this.#visit(body, depth);
    this.#state.give(before);
    this.#callDepth--;
  }

  #wordsOf({ name, args }: Command): string[] {
    const all = name === undefined ? [] : [name, ...args.filter((arg) => arg.type === 'Word')];
    return all.flatMap((word) => expand(word, this.#state));
  }

  #argv(words: readonly string[], input: Input, pos: number, depth: number): Input {
    const [first = '', ...args] = words;
    if (first === '' || !this.#mayGoOn(pos)) return NOTHING;
    const own = this.#state.functions.get(first);
    if (own !== undefined) {
      this.#called(own, args, depth);
      return NOTHING;
    }
    if (first === 'set' && args[0] === '--') this.#state.give(args.slice(1));
    const name = plainName(first);
    if (name === 'cd') this.#state.goTo(args[0]);
    for (const { effect, why, isDangerous } of doingsOf(name, this.#state.placed(name, args)))
      this.#see(effect, name, pos, why, isDangerous);
    for (const file of fetchedInto(name, args)) this.#observer.files.addFetched(file);
    for (const path of writtenBy(name, args)) this.#writes(name, path, input, pos, args.includes('-a'));
    if (first.includes('/')) this.#file(first, first, pos, depth);
    if (input.isShell && connectsTo(name))
      this.#see('opens_connections', name, pos, 'lets another host type into a program', true);
    if (name === 'find') this.#executedByFind(args, pos, depth);
    const withValue = WRAPPERS[name];
    const wrapped = withValue === undefined ? undefined : startedBy(args, withValue);
    if (name === 'xargs' && wrapped !== undefined) {
      return this.#argv(
        [...wrapped, ...(input.text === undefined ? [UNKNOWN] : input.text.trim().split(/\s+/))],
        NOTHING,
        pos,
        depth,
      );
    }
    if (wrapped !== undefined && wrapped.length > 0) return this.#argv(wrapped, input, pos, depth);
    if (name === 'eval' || name === 'trap')
      this.#evaluated(name, name === 'eval' ? args.join(' ') : (args[0] ?? ''), pos, depth);
    if (name === 'source' || name === '.') {
      if (isStdin(args[0]) && input.isOwn) this.#observer.runsElsewhere('shell', STDIN);
      this.#file(name, args[0] ?? '', pos, depth);
    }
    if (SHELLS.has(name)) this.#shell(name, args, input, pos, depth);
    const options = INTERPRETERS.get(name);
    if (options !== undefined) this.#interpreter(name, args, options, input, pos);
    if (name.includes(UNKNOWN)) {
      this.#see('hides_what_it_does', 'a command', pos, 'is named by what only runs later', false);
    }
    const printed = printedBy(name, args, input.text);
    return {
      isOwn: input.isOwn && printed === undefined,
      isFetched: input.isFetched || fetches(name) || connectsTo(name),
      isShell: input.isShell || (SHELLS.has(name) && args.every((arg) => arg.startsWith('-'))),
      isDecoded: input.isDecoded || decodes(name, args) || printed?.isDisguised === true,
      text: printed?.text,
    };
  }

  #shell(name: string, args: readonly string[], input: Input, pos: number, depth: number): void {
    const at = args.findIndex((arg) => /^-[a-z]*c[a-z]*$/.test(arg));
    const text = at >= 0 ? args.slice(at + 1).find((arg) => !arg.startsWith('-')) : undefined;
    if (text !== undefined) {
      this.#evaluated(name, text, pos, depth);
      return;
    }
    const file = scriptOf(name, args);
    const isFed = isStdin(file) || optionsBefore(file, args).some((arg) => /^-[a-z]*s[a-z]*$/.test(arg));
    if (file !== undefined && !isFed) {
      this.#file(name, file, pos, depth);
      return;
    }
    if (input.isOwn) this.#observer.runsElsewhere('shell', STDIN);
    if (input.isFetched) this.#downloaded(name, pos);
    else if (input.isDecoded) {
      this.#see('hides_what_it_does', name, pos, 'runs what is written in a form that nobody can read', true);
    }
    if (input.text !== undefined) this.#evaluated(name, input.text, pos, depth);
  }

  #interpreter(
    name: string,
    args: readonly string[],
    options: readonly string[],
    input: Input,
    pos: number,
  ): void {
    const at = args.findIndex((arg) => options.includes(arg));
    const text = at < 0 ? undefined : args[at + 1];
    const file = at < 0 ? scriptOf(name, args) : undefined;
    const isFed = at < 0 && (file === undefined || isStdin(file));
    const language = LANGUAGE_OF[name];
    const goesOn = optionsBefore(file, args).some((arg) =>
      /^(--interactive|-[a-zA-Z]*i[a-zA-Z]*)$/.test(arg),
    );
    if (language !== undefined && input.isOwn && (isFed || goesOn))
      this.#observer.runsElsewhere(language, STDIN);
    if (file !== undefined && (this.#observer.files.isFetched(file) || file.includes(FETCHED)))
      this.#downloaded(name, pos);
    if (isFed && input.isFetched) this.#downloaded(name, pos);
    else if (isFed && input.isDecoded) {
      this.#see('hides_what_it_does', name, pos, 'runs what is written in a form that nobody can read', true);
    }
    const code = text ?? (isFed ? input.text : this.#observer.files.textOf(file ?? ''));
    if (code === undefined && language !== undefined && file !== undefined && !isFed)
      this.#observer.runsElsewhere(language, file);
    if (code === undefined) return;
    if (language !== undefined) this.#observer.embed(language, code, this.#lineOf(pos));
    else this.#see('evaluates_text', name, pos, 'runs a program in a language that is not looked at', false);
    if (text?.includes(FETCHED)) this.#downloaded(name, pos);
  }

  /** Text that becomes a script. */
  #evaluated(name: string, text: string, pos: number, depth: number): void {
    if (text.includes(FETCHED)) this.#downloaded(name, pos);
    else if (text.includes(DECODED)) {
      this.#see('hides_what_it_does', name, pos, 'runs what is written in a form that nobody can read', true);
    } else if (text.includes(UNKNOWN)) {
      this.#see('evaluates_text', name, pos, 'runs a text that is made while it runs', false);
    }
    this.#work.left -= text.length;
    if (depth >= MAX_DEPTH) {
      this.#see('hides_what_it_does', name, pos, 'runs a script in a script in a script', true);
      return;
    }
    const outer = this.#nested;
    this.#nested = outer ?? pos;
    this.script(parse(text.replaceAll(UNKNOWN, '"$unknown"')), depth + 1);
    this.#nested = outer;
  }

  /** A file that is run as a script. */
  #file(name: string, file: string, pos: number, depth: number): void {
    if (file.startsWith(SUBSTITUTED)) this.#evaluated(name, file.slice(SUBSTITUTED.length), pos, depth);
    else if (this.#observer.files.isFetched(file)) this.#downloaded(name, pos);
    const written = this.#observer.files.textOf(file);
    if (written !== undefined) this.#evaluated(name, written, pos, depth);
    else if (!file.includes(UNKNOWN)) this.#observer.runsElsewhere('shell', file);
  }

  #downloaded(name: string, pos: number): void {
    this.#see('downloads_and_runs', name, pos, 'runs what it has fetched from elsewhere', true);
  }

  #executedByFind(args: readonly string[], pos: number, depth: number): void {
    const at = args.findIndex((arg) => /^-(exec|execdir|ok|okdir)$/.test(arg));
    if (at < 0) return;
    const rest = args.slice(at + 1);
    const end = rest.findIndex((arg) => arg === ';' || arg === '+');
    const where = args.find((arg) => !arg.startsWith('-')) ?? '.';
    this.#argv(
      (end < 0 ? rest : rest.slice(0, end)).map((arg) => (arg === '{}' ? where : arg)),
      NOTHING,
      pos,
      depth,
    );
  }

  #visitNested(node: SyntaxNode, depth: number): void {
    forEachChild(node, (child) => {
      if (child.type === 'Script') this.#visit(child, depth);
      else this.#visitNested(child, depth);
    });
  }

  #redirect(redirect: Redirect | HereDoc | HereString, pos: number, given: Input): void {
    if (redirect.type !== 'Redirect' || redirect.target === undefined) return;
    const target = textOf(redirect.target, this.#state);
    if (/^\/dev\/(tcp|udp)\//.test(target)) {
      this.#see('opens_connections', target.slice(0, 80), pos, 'speaks to another host', true);
    } else if (redirect.operator.includes('>')) {
      this.#writes('a redirection', target, given, pos, redirect.operator === '>>');
    } else if (namesCredentials(target)) {
      const { effect, why, isDangerous } = readsCredentials();
      this.#see(effect, 'a redirection', pos, why, isDangerous);
    }
  }

  #writes(name: string, path: string, { isFetched, text }: Input, pos: number, isAppended: boolean): void {
    const special = writingTo(path);
    if (special !== undefined) this.#see(special.effect, name, pos, special.why, true);
    if (isFetched) this.#observer.files.addFetched(path);
    if (text !== undefined) this.#observer.files.write(path, text, isAppended);
  }

  /** Tells, once, when there is more than can be followed. */
  #mayGoOn(pos: number): boolean {
    if (this.#work.left > 0) {
      this.#work.left -= WORK_FOR_COMMAND;
      return true;
    }
    if (this.#work.isTold) return false;
    this.#work.isTold = true;
    this.#observer.hides({ name: 'the script', line: this.#lineOf(pos) }, 'does more than can be followed');
    return false;
  }

  #fedBy(redirect: Redirect | HereDoc | HereString): Input | undefined {
    if (redirect.type === 'HereDoc') {
      const { body } = redirect;
      const text = body.parts === undefined ? body.text : valueOfParts(body.parts, this.#state);
      return { ...NOTHING, text };
    }
    if (redirect.target === undefined || (redirect.type === 'Redirect' && !redirect.operator.startsWith('<')))
      return undefined;
    const text = textOf(redirect.target, this.#state);
    if (text.includes(FETCHED)) return { ...NOTHING, isFetched: true };
    return redirect.type === 'HereString' ? { ...NOTHING, text } : undefined;
  }

  /** What a substitution becomes, where its text tells; a mark where it comes from elsewhere. */
  #printedBy(script: ParsedScript): string | undefined {
    if (!this.#mayGoOn(0)) return undefined;
    const quiet = new Inspector('', new Observer(new WrittenFiles()), this.#work);
    this.#work.left -= this.#state.size;
    quiet.#state.copyFrom(this.#state);
    let last = NOTHING;
    const [statement, ...others] = script.commands;
    if (statement === undefined || others.length > 0) return undefined;
    const { command } = statement;
    const commands = command.type === 'Pipeline' ? command.commands : [command];
    for (const one of commands) {
      if (one.type !== 'Command') return undefined;
      last = quiet.#command(one, last, MAX_DEPTH);
    }
    if (last.isFetched) return FETCHED;
    if (last.isDecoded && last.text === undefined) return DECODED;
    return last.text?.replace(/\n+$/, '');
  }

  #see(effect: Effect, name: string, pos: number, why: string, isDangerous: boolean): void {
    this.#observer.see(effect, { name, line: this.#lineOf(pos) }, why, isDangerous);
  }

  /** Of the outermost script: a text in it stands where it is evaluated. */
  #lineOf(pos: number): number {
    const at = this.#nested ?? pos;
    let [low, high] = [0, this.#lineStarts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= at) low = middle + 1;
      else high = middle;
    }
    return Math.max(low, 1);
  }
}

const LANGUAGE_OF = table<LanguageName>({
  python: 'python',
  node: 'javascript',
  deno: 'javascript',
  bun: 'javascript',
});

/** Options of shells and interpreters whose value is the next word. */
const WITH_VALUE = table<RegExp>({
  python: /^(-[a-zA-Z]*[WX]|--check-hash-based-pycs)$/,
  node: /^(-r|-C|--require|--import|--loader|--experimental-loader|--conditions|--env-file)$/,
  bun: /^(-r|--preload)$/,
  perl: /^-[IMm]$/,
  ruby: /^-[Ir]$/,
});
const SHELL_WITH_VALUE = /^([-+][a-zA-Z]*[oO]|--rcfile|--init-file)$/;

/** The file that is run, behind the options. */
function scriptOf(name: string, args: readonly string[]): string | undefined {
  const withValue = SHELLS.has(name) ? SHELL_WITH_VALUE : WITH_VALUE[name];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    if (arg === '--') return args[i + 1];
    if (withValue?.test(arg)) i++;
    else if (!(arg.startsWith('-') && arg !== '-') && !(name === 'deno' && arg === 'run')) return arg;
  }
  return undefined;
}

function optionsBefore(file: string | undefined, args: readonly string[]): readonly string[] {
  return file === undefined ? args : args.slice(0, args.indexOf(file));
}

function isStdin(path: string | undefined): boolean {
  return path === '-' || /^\/(dev\/(stdin|fd\/0)|proc\/self\/fd\/0)$/.test(path ?? '');
}

/** Stand for what was fetched, or cannot be read, in a text that is made of it; no script can write them. */
const FETCHED = `${UNKNOWN}fetched${UNKNOWN}`;
const DECODED = `${UNKNOWN}decoded${UNKNOWN}`;
