/**
 * Reads a shell script's syntax tree for what it seems to do: through pipes, substitutions, here-documents, `eval`,
 * `sh -c` and the variables that the script sets itself. It informs; whoever wants to hide something can.
 */
import {
  type Command,
  type For,
  forEachChild,
  type ParsedScript,
  parse,
  type Redirection,
  type SyntaxNode,
  type While,
} from 'unbash';
import type { Effect } from '../effects.ts';
import { type Observed, Observer, STDIN } from '../observer.ts';
import { isOutside, isWide, namesCredentials, writingTo } from '../places.ts';
import { UNKNOWN } from '../reading/values.ts';
import { WrittenFiles } from '../writtenFiles.ts';
import { callsItselfTwice, isEndlessBomb } from './bombs.ts';
import {
  connectsTo,
  copiedBy,
  counts,
  decodes,
  doingsOf,
  fetchedInto,
  fetches,
  isSilent,
  printsEnvironment,
  readBy,
  readsCredentials,
  translates,
  writtenBy,
} from './commands.ts';
import {
  asText,
  DECODED,
  ENVIRONMENT,
  FETCHED,
  type Flow,
  joined,
  NOTHING,
  OWN,
  ofText,
  startsTranslated,
  withoutLastLines,
} from './flow.ts';
import {
  INTERPRETERS,
  type Interpreter,
  type Invocation,
  interpreterInvocation,
  isStandardInput,
  plainName,
  SHELLS,
  shellInvocation,
} from './invocations.ts';
import { foundBy, printedBy } from './printed.ts';
import { ShellState } from './state.ts';
import { expand, SUBSTITUTED, textOf, valueOfParts } from './words.ts';
import { placeholderOf, RUNNERS, scriptOf, startedBy, WRAPPERS } from './wrappers.ts';

/** Scripts in scripts: deeper ones are told as hiding what they do. */
const MAX_DEPTH = 8;

/** Never throws for any code. The files are those that other code has written before. */
export function inspectShell(code: string, files = new WrittenFiles()): Observed {
  const observer = new Observer(files);
  const inspector = new Inspector(code, observer, { left: MAX_WORK, isTold: false });
  try {
    inspector.script(parse(code), 0, OWN);
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

/** Of the characters that flow through a command. */
const CHARACTERS_FOR_WORK = 4;
/** Of a text that a loop reads line by line. */
const MAX_LINES = 256;

/** Where something is done. */
interface Place {
  readonly pos: number;
  /** Of scripts in scripts. */
  readonly depth: number;
}

class Inspector {
  readonly #observer: Observer;
  readonly #work: Work;
  readonly #state: ShellState;
  /** Where the scripts that we are in begin, the outermost one first: a nested text has its own positions. */
  readonly #lineStarts: number[];
  #nested: number | undefined;
  /** What functions printed for what they were given. */
  #calls = new Map<SyntaxNode, Map<string, Flow>>();
  #callDepth = 0;
  /** Only for what is printed: everything that is done is seen by another. */
  #isQuiet = false;
  #environmentFiles = new Set<string>();
  #fetchedData = new Set<string>();

  constructor(code: string, observer: Observer, work: Work) {
    this.#observer = observer;
    this.#work = work;
    this.#lineStarts = [0, ...[...code.matchAll(/\n/g)].map(({ index }) => index + 1)];
    this.#state = new ShellState((script) => this.#printedBy(script));
  }

  script(script: ParsedScript, depth: number, input = NOTHING): Flow {
    return this.#visit(script, input, depth);
  }

  /** Returns what it prints. */
  #visit(node: SyntaxNode, input: Flow, depth: number): Flow {
    if (!this.#mayGoOn(node.pos)) return NOTHING;
    switch (node.type) {
      case 'Command':
        return this.#command(node, input, depth);
      case 'Pipeline': {
        let flow = input;
        for (const command of node.commands) flow = this.#visit(command, flow, depth);
        return flow;
      }
      case 'Function':
        this.#state.functions.set(node.name.value, node.body);
        if (callsItselfTwice(node.name.value, node)) {
          this.#see('exhausts_resources', node.name.value, node.pos, 'starts itself again and again', true);
        }
        if (!this.#isQuiet) this.#visit(node.body, NOTHING, depth);
        return NOTHING;
      case 'While':
        if (isEndlessBomb(node)) {
          this.#see('exhausts_resources', 'while', node.pos, 'starts programs without end', true);
        }
        return this.#while(node, input, depth);
      case 'For':
        return this.#for(node, input, depth);
      case 'Redirected': {
        const fed = this.#fed(node.redirects, input);
        for (const redirect of node.redirects) this.#visitNested(redirect, depth);
        const given = this.#visit(node.command, fed, depth);
        return this.#redirected(node.redirects, node.pos, given);
      }
      case 'Word':
        this.#visitNested(node, depth);
        return NOTHING;
      default:
        return this.#visitChildren(node, input, depth);
    }
  }

  #visitChildren(node: SyntaxNode, input: Flow, depth: number): Flow {
    let given = NOTHING;
    forEachChild(node, (child) => {
      given = joined(given, this.#visit(child, input, depth));
    });
    return given;
  }

  /** The last value is as good as any; all of them are looked at. */
  #for(node: For, input: Flow, depth: number): Flow {
    let given = NOTHING;
    for (const word of node.wordlist ?? []) this.#visitNested(word, depth);
    const values =
      node.wordlist?.flatMap((word) => expand(word, this.#state)) ?? this.#state.lists.get('@') ?? [];
    if (values.length === 0) return this.#visit(node.body, input, depth);
    for (const value of values) {
      if (!this.#mayGoOn(node.pos)) break;
      this.#state.variables.set(node.name.value, value);
      given = joined(given, this.#visit(node.body, input, depth));
    }
    return given;
  }

  /** Line by line, where it reads what flows in. */
  #while(node: While, input: Flow, depth: number): Flow {
    if (input.text === undefined || !readsLines(node)) return this.#visitChildren(node, input, depth);
    let given = NOTHING;
    for (const line of input.text.split('\n', MAX_LINES)) {
      if (!this.#mayGoOn(node.pos)) break;
      if (line !== '') given = joined(given, this.#visitChildren(node, { ...input, text: line }, depth));
    }
    return given;
  }

  /** Returns what it hands on to the next one. */
  #command(command: Command, input: Flow, depth: number): Flow {
    const isReference = command.args.some((arg) => arg.type === 'Word' && arg.value === '-n');
    // With names such as `local` or `export` they stand behind.
    for (const part of [...command.prefix, ...command.args])
      if (part.type === 'Assignment') {
        if (isReference) this.#state.refer(part);
        else this.#state.assign(part);
      }
    // Substitutions run, whatever is done with what they print.
    if (!this.#isQuiet) forEachChild(command, (child) => this.#visitNested(child, depth));
    const fed = this.#fed(command.redirects, input);
    const words = command.name === undefined ? [] : this.#wordsOf(command);
    // `$(< file)` prints it.
    const given =
      words.length === 0 && fed !== input ? fed : this.#argv(words, fed, { pos: command.pos, depth });
    return this.#redirected(command.redirects, command.pos, given);
  }

  /** A function of the script's own, with what it is given. */
  #called(body: SyntaxNode, args: readonly string[], input: Flow, depth: number): Flow {
    // Once for what it is given: functions that call others many times would take very long.
    const made = this.#calls.get(body) ?? new Map<string, Flow>();
    const { text, ...flags } = input;
    const given = [...args, ...Object.values(flags), text].join(' ');
    this.#work.left -= given.length / CHARACTERS_FOR_WORK;
    const known = made.get(given);
    if (known !== undefined || this.#callDepth >= MAX_DEPTH) return known ?? NOTHING;
    this.#calls.set(body, made.set(given, NOTHING));
    this.#callDepth++;
    const printed = this.#state.giving(args, undefined, () => this.#visit(body, input, depth));
    made.set(given, printed);
    this.#callDepth--;
    return printed;
  }

  #wordsOf({ name, args }: Command): string[] {
    const all = name === undefined ? [] : [name, ...args.filter((arg) => arg.type === 'Word')];
    return all.flatMap((word) => expand(word, this.#state));
  }

  #argv(words: readonly string[], input: Flow, place: Place): Flow {
    const [first = '', ...args] = words;
    const { pos, depth } = place;
    if (first === '' || !this.#mayGoOn(pos)) return NOTHING;
    this.#work.left -= (input.text?.length ?? 0) / CHARACTERS_FOR_WORK;
    const own = this.#state.functions.get(first);
    if (own !== undefined) return this.#called(own, args, input, depth);
    const name = plainName(first);
    this.#sets(name, args, input);
    for (const { effect, why, isDangerous } of doingsOf(name, this.#state.placed(name, args)))
      this.#see(effect, name, pos, why, isDangerous);
    for (const file of fetchedInto(name, args)) this.#addFetched(file);
    for (const [from, to] of copiedBy(name, args)) this.#keep(to, this.#contentOf(from) ?? NOTHING, false);
    for (const path of writtenBy(name, args)) this.#writes(name, path, input, pos, args.includes('-a'));
    if (first.includes('/')) this.#file(first, first, args, input, place);
    this.#connects(name, args, input, pos);
    if (name === 'find') this.#executedByFind(args, place);
    const started = this.#started(name, args, input, place);
    if (started !== undefined) return started;
    this.#named(first, pos);
    return this.#printed(name, args, input);
  }

  /** What a command changes for those after it. */
  #sets(name: string, args: readonly string[], input: Flow): void {
    if (name === 'set' && args[0] === '--') this.#state.give(args.slice(1));
    if (name === 'cd' || name === 'pushd') this.#state.goTo(args[0]);
    if (name === 'popd') this.#state.goTo('-');
    const text = input.isFetched ? FETCHED : input.text;
    const isRead = name === 'read';
    if (text !== undefined && (isRead || name === 'mapfile' || name === 'readarray')) {
      const withValue = isRead ? /^-[a-zA-Z]*[dinNptu]$/ : /^-[a-zA-Z]*[dnOsuCc]$/;
      const names = args.filter((arg, i) => /^\w+$/.test(arg) && !withValue.test(args[i - 1] ?? ''));
      if (isRead) this.#state.fill(names.length === 0 ? ['REPLY'] : names, text);
      else this.#state.list(names[0] ?? 'MAPFILE', withoutLastLines(text).split('\n'));
    }
    if (name === 'printf' && args[0] === '-v' && args[1] !== undefined)
      this.#state.variables.set(args[1], printedBy(name, args.slice(2), undefined)?.text ?? UNKNOWN);
  }

  /** What a command hands on to other hosts. */
  #connects(name: string, args: readonly string[], input: Flow, pos: number): void {
    if (input.isShell && connectsTo(name))
      this.#see('opens_connections', name, pos, 'lets another host type into a program', true);
    if (!fetches(name) && !connectsTo(name)) return;
    const isSent =
      input.isEnvironment ||
      args.some(
        (arg) =>
          arg.includes(ENVIRONMENT) || this.#environmentFiles.has(bare(arg.replace(/^([\w-]*=)?[@<]/, ''))),
      );
    if (isSent) this.#see('reads_credentials', name, pos, 'sends all variables to another host', true);
  }

  /** What the command that it starts prints; undefined where it starts none. */
  #started(name: string, args: readonly string[], input: Flow, place: Place): Flow | undefined {
    const script = name === 'npm' && args[0] !== 'exec' ? undefined : scriptOf(name, args);
    if (script !== undefined) return this.#evaluated(name, script, [], input, place);
    if (name === 'command' && /^-[vV]$/.test(args[0] ?? '')) return undefined;
    const runner = RUNNERS[name];
    const wrapper = runner !== undefined && args[0] === runner.verb ? runner.wrapper : WRAPPERS[name];
    const wrapped =
      wrapper === undefined
        ? undefined
        : startedBy(wrapper === runner?.wrapper ? args.slice(1) : args, wrapper);
    if (name === 'xargs' && wrapped !== undefined) return this.#startedByXargs(args, wrapped, input, place);
    if (wrapped !== undefined && wrapped.length > 0) return this.#argv(wrapped, input, place);
    if (name === 'eval') return this.#evaluated(name, args.join(' '), undefined, input, place);
    if (name === 'trap') this.#evaluated(name, args[0] ?? '', undefined, input, place);
    if (name === 'source' || name === '.')
      return this.#file(name, args[0] ?? '', args.slice(1), input, place);
    if (SHELLS.has(name)) return this.#shell(name, args, input, place);
    if (name === 'su') return this.#fedTo(name, [], input, place);
    if (INTERPRETERS[name] !== undefined) this.#interpreter(name, args, input, place.pos);
    return undefined;
  }

  #startedByXargs(args: readonly string[], wrapped: readonly string[], input: Flow, place: Place): Flow {
    const unknown = input.isFetched ? FETCHED : UNKNOWN;
    const isWhole = args.some((arg) => /^(-0|--null|-d.*|--delimiter.*)$/.test(arg));
    const items = input.text === undefined ? [unknown] : input.text.trim().split(isWhole ? '\0' : /\s+/);
    const placeholder = placeholderOf(args);
    const command = wrapped.length === 0 ? ['echo'] : wrapped;
    if (placeholder === undefined) return this.#argv([...command, ...items], NOTHING, place);
    const line = input.text === undefined ? UNKNOWN : withoutLastLines(input.text);
    this.#work.left -= line.length;
    // What is fetched is code where it is all of an argument, and a name in it otherwise.
    const filled = command.map((arg) =>
      arg === placeholder && input.isFetched
        ? FETCHED
        : arg.slice(0, MAX_TEMPLATE).replaceAll(placeholder, () => line),
    );
    return this.#argv(filled, NOTHING, place);
  }

  #named(name: string, pos: number): void {
    if (name.startsWith(FETCHED)) this.#downloaded('a command', pos);
    else if (name.startsWith(DECODED)) this.#hidden('a command', pos);
    else if (name.includes(UNKNOWN)) {
      this.#see('hides_what_it_does', 'a command', pos, 'is named by what only runs later', false);
    }
  }

  #printed(name: string, args: readonly string[], input: Flow): Flow {
    const contents = readBy(name, args).map((path) => this.#contentOf(path));
    const read = contents.reduce<Flow>((all, content) => joined(all, content ?? NOTHING), NOTHING);
    const fed = read === NOTHING ? input : read;
    const options = read === NOTHING ? args : args.filter((arg) => arg.startsWith('-'));
    const printed = printedBy(name, options, fed.text);
    const isShell = SHELLS.has(name) && args.every((arg) => arg.startsWith('-'));
    return {
      isOwn: fed.isOwn && printed === undefined,
      isFetched: fed.isFetched || fetches(name) || connectsTo(name),
      isShell: input.isShell || isShell,
      isDecoded: fed.isDecoded || decodes(name, args) || printed?.isDisguised === true,
      isTranslated: fed.isTranslated || translates(name, args),
      isEnvironment:
        printsEnvironment(name, args) ||
        (fed.isEnvironment && !counts(name)) ||
        (name === 'echo' && args.some((arg) => arg.includes(ENVIRONMENT))),
      text: printed?.text,
      isOpen: printed === undefined && !isSilent(name),
    };
  }

  #shell(name: string, args: readonly string[], input: Flow, place: Place): Flow | undefined {
    const invocation = shellInvocation(args);
    switch (invocation.kind) {
      case 'text': {
        const [self = name, ...others] = invocation.args;
        return this.#evaluated(name, invocation.text, [self, ...others], input, place);
      }
      case 'file':
        return this.#file(name, invocation.file, invocation.args, input, place);
      case 'fed':
        return this.#fedTo(name, invocation.args, input, place);
      default:
        return undefined;
    }
  }

  /** What flows into a shell is run. */
  #fedTo(name: string, args: readonly string[], input: Flow, place: Place): Flow | undefined {
    if (input.isOwn) this.#observer.runsElsewhere('shell', STDIN);
    if (input.isFetched) this.#downloaded(name, place.pos);
    else if (input.isDecoded || input.isTranslated) this.#hidden(name, place.pos);
    if (input.text === undefined) return undefined;
    return this.#evaluated(name, input.text, [name, ...args], NOTHING, place);
  }

  #interpreter(name: string, args: readonly string[], input: Flow, pos: number): void {
    const interpreter = INTERPRETERS[name];
    if (interpreter === undefined) return;
    const invocation = interpreterInvocation(interpreter, args);
    const code = this.#codeOf(name, invocation, input, pos);
    this.#elsewhere(interpreter, invocation, args, input, code);
    if (code === undefined) return;
    if (interpreter.language === undefined)
      this.#see('evaluates_text', name, pos, 'runs a program in a language that is not looked at', false);
    else this.#observer.embed(interpreter.language, code, this.#lineOf(pos));
  }

  /** What it runs that the script does not say. */
  #elsewhere(
    { language }: Interpreter,
    invocation: Invocation,
    args: readonly string[],
    { isOwn }: Flow,
    code: string | undefined,
  ): void {
    if (language === undefined) return;
    const goesOn = args.some((arg) => /^(--interactive|-[a-zA-Z]*i[a-zA-Z]*)$/.test(arg));
    if (isOwn && (invocation.kind === 'fed' || goesOn)) this.#observer.runsElsewhere(language, STDIN);
    if (invocation.kind === 'file' && code === undefined)
      this.#observer.runsElsewhere(language, invocation.file);
  }

  #codeOf(name: string, invocation: Invocation, input: Flow, pos: number): string | undefined {
    switch (invocation.kind) {
      case 'text':
        if (invocation.text.includes(FETCHED)) this.#downloaded(name, pos);
        return invocation.text;
      case 'fed':
        if (input.isFetched) this.#downloaded(name, pos);
        else if (input.isDecoded || input.isTranslated) this.#hidden(name, pos);
        return input.text;
      case 'file': {
        const { file } = invocation;
        const isRemote = /^(deno|bun)$/.test(name) && /^https?:/.test(file);
        const content = this.#contentOf(file);
        if (isRemote || content?.isFetched) this.#downloaded(name, pos);
        return content?.text;
      }
      default:
        return undefined;
    }
  }

  /** Text that becomes a script; what it is given has its own name first. */
  #evaluated(
    name: string,
    text: string,
    given: readonly string[] | undefined,
    input: Flow,
    { pos, depth }: Place,
  ): Flow {
    if (text.includes(FETCHED)) this.#downloaded(name, pos);
    else if (text.includes(DECODED) || startsTranslated(text)) this.#hidden(name, pos);
    else if (text.includes(UNKNOWN)) {
      this.#see('evaluates_text', name, pos, 'runs a text that is made while it runs', false);
    }
    this.#work.left -= text.length;
    if (depth >= MAX_DEPTH) {
      this.#see('hides_what_it_does', name, pos, 'runs a script in a script in a script', true);
      return NOTHING;
    }
    if (!this.#mayGoOn(pos)) return NOTHING;
    const outer = this.#nested;
    this.#nested = outer ?? pos;
    const script = parse(text.replaceAll(UNKNOWN, '"$unknown"'));
    const run = (): Flow => this.script(script, depth + 1, input);
    const printed = given === undefined ? run() : this.#state.giving(given.slice(1), given[0], run);
    this.#nested = outer;
    return printed;
  }

  /** A file that is run as a script. */
  #file(name: string, file: string, args: readonly string[], input: Flow, place: Place): Flow | undefined {
    if (isStandardInput(file)) return this.#fedTo(name, args, input, place);
    const content = this.#contentOf(file);
    if (content?.isFetched) this.#downloaded(name, place.pos);
    else if (content?.isDecoded) this.#hidden(name, place.pos);
    if (content?.text === undefined) {
      if (!file.includes(UNKNOWN)) this.#observer.runsElsewhere('shell', file);
      return undefined;
    }
    return this.#evaluated(name, content.text, [file, ...args], input, place);
  }

  #downloaded(name: string, pos: number): void {
    this.#see('downloads_and_runs', name, pos, 'runs what it has fetched from elsewhere', true);
  }

  #hidden(name: string, pos: number): void {
    this.#see('hides_what_it_does', name, pos, 'runs what is written in a form that nobody can read', true);
  }

  #executedByFind(args: readonly string[], place: Place): void {
    const found = foundBy(args);
    for (let at = 0; at < args.length; at++) {
      if (!/^-(exec|execdir|ok|okdir)$/.test(args[at] ?? '')) continue;
      const rest = args.slice(at + 1, at + 1 + MAX_EXECUTED);
      const end = rest.findIndex((arg) => arg === ';' || arg === '+');
      const command = end < 0 ? rest : rest.slice(0, end);
      const where = found.find((one) => isOutside(one) || isWide(one)) ?? found[0] ?? '.';
      this.#work.left -= command.join(' ').length + where.length;
      this.#argv(
        command.map((arg) => (arg === '{}' ? where : arg.replace('{}', () => where))),
        NOTHING,
        place,
      );
      at += command.length;
    }
  }

  #visitNested(node: SyntaxNode, depth: number): void {
    if (this.#isQuiet) return;
    forEachChild(node, (child) => {
      if (child.type === 'Script') this.#visit(child, NOTHING, depth);
      else this.#visitNested(child, depth);
    });
  }

  /** Writes where it is told to, and returns what is left for the next one. */
  #redirected(redirects: readonly Redirection[], pos: number, given: Flow): Flow {
    for (const redirect of redirects) this.#redirect(redirect, pos, given);
    return redirects.some(takesOutput) ? NOTHING : given;
  }

  #redirect(redirect: Redirection, pos: number, given: Flow): void {
    if (redirect.type !== 'Redirect' || redirect.target === undefined) return;
    const target = textOf(redirect.target, this.#state);
    if (/^\/dev\/(tcp|udp)\//.test(target)) {
      this.#see('opens_connections', target.slice(0, 80), pos, 'speaks to another host', true);
    } else if (redirect.operator.includes('>')) {
      const what = takesOutput(redirect) ? given : NOTHING;
      this.#writes('a redirection', target, what, pos, redirect.operator === '>>');
    } else if (namesCredentials(target)) {
      const { effect, why, isDangerous } = readsCredentials();
      this.#see(effect, 'a redirection', pos, why, isDangerous);
    }
  }

  #writes(name: string, path: string, content: Flow, pos: number, isAppended: boolean): void {
    const special = writingTo(path);
    if (special !== undefined) this.#see(special.effect, name, pos, special.why, true);
    this.#keep(path, content, isAppended);
  }

  /** Remembers what a file holds, also under its name as seen from elsewhere. */
  #keep(path: string, { isFetched, isEnvironment, text }: Flow, isAppended: boolean): void {
    if (isFetched) this.#addFetched(path);
    if (this.#isQuiet) return;
    for (const one of this.#namesOf(path)) {
      if (isEnvironment && this.#environmentFiles.size < MAX_FILES) this.#environmentFiles.add(bare(one));
      if (text !== undefined) this.#observer.files.write(one, text, isAppended);
    }
  }

  #addFetched(path: string): void {
    if (this.#isQuiet) return;
    for (const one of this.#namesOf(path)) {
      // Other languages read it as data, whatever they do with it.
      if (!one.endsWith('.json')) this.#observer.files.addFetched(one);
      else if (this.#fetchedData.size < MAX_FILES) this.#fetchedData.add(bare(one));
    }
  }

  #namesOf(path: string): string[] {
    const absolute = this.#state.absolute(path);
    return absolute === undefined ? [path] : [path, absolute];
  }

  /** What a file holds, where the script has written or fetched it. */
  #contentOf(path: string): Flow | undefined {
    if (path.startsWith(SUBSTITUTED)) return ofText(path.slice(SUBSTITUTED.length));
    const { files } = this.#observer;
    const names = this.#namesOf(path);
    const isFetched = names.some((name) => files.isFetched(name) || this.#fetchedData.has(bare(name)));
    const isEnvironment = names.some((name) => this.#environmentFiles.has(bare(name)));
    const text = names.map((name) => files.textOf(name)).find((one) => one !== undefined);
    return isFetched || isEnvironment || text !== undefined
      ? { ...NOTHING, isFetched, isEnvironment, text }
      : undefined;
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

  #fed(redirects: readonly Redirection[], input: Flow): Flow {
    let fed = input;
    for (const redirect of redirects) fed = this.#fedBy(redirect) ?? fed;
    return fed;
  }

  #fedBy(redirect: Redirection): Flow | undefined {
    if (redirect.type === 'HereDoc') {
      const { body } = redirect;
      return ofText(body.parts === undefined ? body.text : valueOfParts(body.parts, this.#state));
    }
    if (redirect.target === undefined || (redirect.type === 'Redirect' && redirect.operator !== '<'))
      return undefined;
    const text = textOf(redirect.target, this.#state);
    return redirect.type === 'HereString' ? ofText(text) : this.#contentOf(text);
  }

  /** What a substitution becomes, where its text tells; a mark where it comes from elsewhere. */
  #printedBy(script: ParsedScript): string | undefined {
    if (!this.#mayGoOn(0) || this.#callDepth >= MAX_DEPTH) return undefined;
    const quiet = new Inspector('', new Observer(this.#observer.files), this.#work);
    this.#work.left -= this.#state.size;
    quiet.#state.copyFrom(this.#state);
    quiet.#isQuiet = true;
    quiet.#environmentFiles = this.#environmentFiles;
    quiet.#fetchedData = this.#fetchedData;
    quiet.#callDepth = this.#callDepth + 1;
    // Functions that call themselves in substitutions would take very long.
    if (this.#isQuiet) quiet.#calls = this.#calls;
    const printed = asText(quiet.#visit(script, NOTHING, MAX_DEPTH));
    return printed === undefined ? undefined : withoutLastLines(printed);
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

const MAX_FILES = 256;
const MAX_TEMPLATE = 4_096;
const MAX_EXECUTED = 256;

const bare = (path: string): string => path.replace(/^(\.\/)+/, '');

/** Whether it is what the command prints, and not what it complains of, that goes elsewhere. */
function takesOutput(redirect: Redirection): boolean {
  if (redirect.type !== 'Redirect' || !redirect.operator.includes('>') || redirect.operator === '<>')
    return false;
  const isOutput =
    redirect.descriptor === undefined ||
    (redirect.descriptor.type === 'FileDescriptor' && redirect.descriptor.value === 1);
  return isOutput && !/^(\/dev\/(stdout|fd\/1)|1)$/.test(redirect.target?.value ?? '');
}

/** `while read`, also with `IFS=` before it or a test behind it. */
function readsLines({ clause }: While): boolean {
  const [first] = clause.commands;
  const command = first?.command.type === 'AndOr' ? first.command.commands[0] : first?.command;
  return command?.type === 'Command' && command.name?.value === 'read';
}
