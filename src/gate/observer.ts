/** Collects what code does, with the same judgement for every language. */
import type { LanguageName } from '../languages/language.ts';
import type { Effect, Sight } from './effects.ts';
import { isOutside, isWide, namesCredentials, namesEnvironmentFile, writingTo } from './places.ts';
import { textsOf, UNKNOWN, type Value } from './reading/values.ts';
import type { WrittenFiles } from './writtenFiles.ts';

/** Code in code, in its own language or another, with where it stands. */
export interface Embedded {
  readonly language: LanguageName;
  readonly code: string;
  readonly line: number;
}

/** A program that is run and is not there to read, in a file or in what the code is given to read itself. */
export interface Elsewhere {
  readonly language: LanguageName;
  /** `STDIN` for its own standard input. */
  readonly path: string;
}

export const STDIN = '/dev/stdin';

/** What was seen in one piece of code. */
export interface Observed {
  readonly sights: readonly Sight[];
  readonly embedded: readonly Embedded[];
  readonly elsewhere: readonly Elsewhere[];
}

/** What does something, and where. */
export interface Doer {
  readonly name: string;
  readonly line: number;
}

const MAX_SIGHTS = 2_000;
const MAX_EMBEDDED = 500;
const MAX_ELSEWHERE = 500;

export class Observer implements Observed {
  readonly sights: Sight[] = [];
  readonly embedded: Embedded[] = [];
  readonly elsewhere: Elsewhere[] = [];
  readonly #known = new Set<string>();
  readonly files: WrittenFiles;
  #folder: string | undefined;

  constructor(files: WrittenFiles) {
    this.files = files;
  }

  see(effect: Effect, { name, line }: Doer, why: string, isDangerous: boolean): void {
    const key = `${effect} ${line} ${isDangerous} ${name}`;
    if (this.#known.has(key) || this.sights.length >= MAX_SIGHTS) return;
    this.#known.add(key);
    this.sights.push({ effect, name, line, why, isDangerous });
  }

  embed(language: LanguageName, code: string, line: number): void {
    const key = `${language} ${code}`;
    if (this.#known.has(key) || this.embedded.length >= MAX_EMBEDDED) return;
    this.#known.add(key);
    this.embedded.push({ language, code, line });
  }

  /** A program of which the code does not say the text. */
  runsElsewhere(language: LanguageName, path: string): void {
    const known = this.elsewhere.some((one) => one.language === language && one.path === path);
    if (!known && this.elsewhere.length < MAX_ELSEWHERE) this.elsewhere.push({ language, path });
  }

  /** A text that a shell runs. */
  runsShell(doer: Doer, command: Value, folder?: Value): void {
    this.see('starts_programs', doer, 'starts another program', false);
    if (command.origins.has('fetched') && !command.texts.some(hasKnownStart)) this.#runsFetched(doer);
    if (command.origins.has('decoded')) this.#runsDecoded(doer);
    for (const text of command.texts) this.#embedCommand(text, doer, folder);
  }

  /** A program with its arguments. */
  runsProgram(doer: Doer, argv: readonly Value[], folder?: Value): void {
    this.see('starts_programs', doer, 'starts another program', false);
    if (argv[0]?.origins.has('fetched') && !argv[0].texts.some(hasKnownStart)) this.#runsFetched(doer);
    if (argv.some(({ origins }) => origins.has('decoded'))) this.#runsDecoded(doer);
    const isFed = argv.some((arg) => arg.origins.has('fetched') && arg.texts.length === 0);
    if (isFed && argv.some(({ texts }) => texts.some((text) => /^(-\w*c|-e|--eval)$/.test(text))))
      this.#runsFetched(doer);
    const variants = Math.max(1, ...argv.map(({ texts }) => Math.min(texts.length, 4)));
    for (let i = 0; i < variants; i++) {
      const words = argv.map((arg) => quoted(textsOf(arg)[Math.min(i, textsOf(arg).length - 1)] ?? UNKNOWN));
      if (words.length > 0) this.#embedCommand(words.join(' '), doer, folder);
    }
  }

  /** All that comes later runs in this folder. */
  goesTo(folder: Value | undefined): void {
    this.#folder = folder?.texts.at(-1);
  }

  /** Where a path leads from a folder that everything is below. */
  #placed(path: string): string {
    const folder = this.#folder ?? '';
    const isFar = /^[/~]/.test(folder) && isWide(folder);
    return isFar && !/^([\\/~\0]|file:)/.test(path) ? `${folder}/${path}` : path;
  }

  #embedCommand(command: string, { line }: Doer, folder: Value | undefined): void {
    const place = folder?.texts.at(-1) ?? this.#folder;
    const isFar = place !== undefined && isWide(place);
    this.embed('shell', isFar ? `cd ${quoted(place)}\n${command}` : command, line);
  }

  /** A text that becomes code. What nobody can read is dangerous; a file is as readable as the code itself. */
  evaluates(doer: Doer, language: LanguageName, text: Value): void {
    const { origins, texts, isOpen } = text;
    if (origins.has('fetched')) this.#runsFetched(doer);
    if (origins.has('decoded')) this.#runsDecoded(doer);
    for (const code of texts) this.embed(language, code, doer.line);
    const isFile = origins.has('read') && !origins.has('asked');
    const isUnread = texts.length === 0 ? !isFile : isOpen || texts.some((code) => code.includes(UNKNOWN));
    const why = isUnread ? 'runs a text as code that is not there to read' : 'runs a text as code';
    this.see('evaluates_text', doer, why, isUnread);
  }

  deletes(doer: Doer, path: Value | undefined): void {
    const isDangerous = (path?.texts ?? [])
      .map((text) => this.#placed(text))
      .some((text) => isOutside(text) || isWide(text));
    const why = isDangerous ? 'deletes what is outside of the working folder' : 'deletes files';
    this.see('deletes_files', doer, why, isDangerous);
  }

  reads(doer: Doer, path: Value | undefined): void {
    if ((path?.texts ?? []).some((text) => namesCredentials(text) || namesEnvironmentFile(text))) {
      this.see('reads_credentials', doer, 'reads what proves who somebody is', true);
    }
  }

  writes(doer: Doer, path: Value | undefined, content?: Value): void {
    for (const text of path?.texts ?? []) {
      const special = writingTo(text);
      if (special !== undefined) this.see(special.effect, doer, special.why, true);
      if (content?.origins.has('fetched')) this.files.addFetched(text);
      const written = content?.texts.at(-1);
      if (written !== undefined) this.files.write(text, written, true);
    }
  }

  movesAway(doer: Doer, path: Value | undefined): void {
    if ((path?.texts ?? []).some(isWide))
      this.see('deletes_files', doer, 'moves what is outside of the working folder', true);
  }

  /** With the mode as a number, where it is known. */
  changesMode(doer: Doer, path: Value | undefined, mode: number | undefined): void {
    this.writes(doer, path);
    if (mode === undefined) return;
    if ((mode & 0o6000) !== 0)
      this.see('changes_the_system', doer, "lets whoever starts a file have its owner's rights", true);
    if ((mode & 0o111) !== 0) this.see('writes_executables', doer, 'makes files executable', false);
  }

  runsFile(doer: Doer, language: LanguageName, path: Value | undefined): void {
    for (const text of path?.texts ?? [])
      if (!this.importsFile(doer, language, text)) this.runsElsewhere(language, text);
  }

  /** A file that a module's name may stand for; whether it is one of those that are known. */
  importsFile(doer: Doer, language: LanguageName, path: string): boolean {
    if (this.files.isFetched(path)) this.#runsFetched(doer);
    const written = this.files.textOf(path);
    if (written !== undefined) this.embed(language, written, doer.line);
    return written !== undefined;
  }

  connects(doer: Doer, address?: Value): void {
    this.see('opens_connections', doer, 'speaks to other hosts', false);
    this.reads(doer, address);
  }

  hides(doer: Doer, why: string): void {
    this.see('hides_what_it_does', doer, why, true);
  }

  #runsFetched(doer: Doer): void {
    this.see('downloads_and_runs', doer, 'runs what it has fetched from elsewhere', true);
  }

  #runsDecoded(doer: Doer): void {
    this.hides(doer, 'runs what is written in a form that nobody can read');
  }
}

function hasKnownStart(text: string): boolean {
  return text !== '' && !text.startsWith(UNKNOWN);
}

/** As one word of a shell, where what is not known becomes a variable. */
function quoted(text: string): string {
  const pieces = text.split(UNKNOWN).map((piece) => `'${piece.replaceAll("'", "'\\''")}'`);
  return pieces.join('"$unknown"');
}
