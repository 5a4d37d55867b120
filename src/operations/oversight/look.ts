/** What code seems to do, however it is given. */
import type { Sight } from '../../gate/effects.ts';
import { type CodeInspection, inspectCode, MAX_SIGHTS } from '../../gate/inspectCode.ts';
import { STDIN } from '../../gate/observer.ts';
import { languageOfFile } from '../../languages/index.ts';
import type { LanguageName } from '../../languages/language.ts';
import type { Program } from '../../sandbox/program.ts';
import type { Seen } from './oversight.ts';

/** So much code is looked at for one request: the parsers run on the caller's thread. */
export const MAX_LOOKED_AT_BYTES = 2 * 1024 * 1024;

/** Of code or of a command, with the files that come along and what it is given to read, where that is run as code. */
export async function lookAtProgram(
  { run, args, files }: Pick<Program, 'run' | 'args' | 'files'>,
  stdin: unknown,
): Promise<Seen> {
  const all = new Looked();
  const main =
    'command' in run
      ? await all.look(Buffer.from([...run.command, ...args].map(quoted).join(' ')), 'shell')
      : await all.look(run.code, run.language.name);
  const elsewhere = main.elsewhere ?? [];
  for (const [path, content] of Object.entries(files)) {
    const named = elsewhere.filter((one) => inWorkspace(one.path) === inWorkspace(path));
    const languages = new Set(named.map(({ language }) => language));
    const language = languageOfFile(path)?.name;
    for (const one of language === undefined ? languages : [language]) await all.look(content, one, path);
  }
  for (const { language } of elsewhere.filter(({ path }) => path === STDIN)) {
    if (stdin instanceof Uint8Array) await all.look(stdin, language, 'its standard input');
    else if (stdin !== undefined) all.cannot('Its standard input is a stream, and is run as a program.');
  }
  return all.seen;
}

/** Of a file, where its name says that it is code. */
export async function lookAtFile(path: string, content: Uint8Array): Promise<Seen> {
  const language = languageOfFile(path);
  return language === undefined
    ? { sights: [] }
    : inspectCode(Buffer.from(content).toString('utf8'), language.name);
}

/** Of several files. */
export async function lookAtFiles(
  files: AsyncIterable<{ readonly path: string; readonly content: Uint8Array }>,
): Promise<Seen> {
  const sights: Sight[] = [];
  const notInspected: string[] = [];
  for await (const { path, content } of files) {
    const seen = await lookAtFile(path, content);
    sights.push(...seen.sights.map((sight) => ({ ...sight, why: `${sight.why} (in ${path})` })));
    if (seen.notInspected !== undefined) notInspected.push(`${path}: ${seen.notInspected}`);
  }
  return { sights, ...(notInspected.length === 0 ? {} : { notInspected: notInspected.join(' ') }) };
}

/** What was seen so far in what comes together. */
class Looked {
  readonly #sights: Sight[] = [];
  readonly #notInspected = new Set<string>();
  #bytesLeft = MAX_LOOKED_AT_BYTES;

  /** `where` is told with what is seen there. */
  async look(content: Uint8Array, language: LanguageName, where?: string): Promise<CodeInspection> {
    this.#bytesLeft -= content.length;
    if (this.#bytesLeft < 0) {
      this.cannot(`It comes with more code than the ${MAX_LOOKED_AT_BYTES} bytes that are looked at.`);
      return { sights: [] };
    }
    const seen = await inspectCode(Buffer.from(content).toString('utf8'), language);
    const why = where === undefined ? '' : ` (in ${where})`;
    this.#sights.push(...seen.sights.map((sight) => ({ ...sight, why: `${sight.why}${why}` })));
    if (seen.notInspected !== undefined)
      this.cannot(where === undefined ? seen.notInspected : `${where}: ${seen.notInspected}`);
    return seen;
  }

  cannot(because: string): void {
    if (this.#notInspected.size < MAX_REASONS) this.#notInspected.add(because);
  }

  /** The dangerous ones first. */
  get seen(): Seen {
    const sights = this.#sights.toSorted((a, b) => Number(b.isDangerous) - Number(a.isDangerous));
    const because = [...this.#notInspected].join(' ');
    return { sights: sights.slice(0, MAX_SIGHTS), ...(because === '' ? {} : { notInspected: because }) };
  }
}

const MAX_REASONS = 10;

/** A path as both a file that is given and a command may write it. */
function inWorkspace(path: string): string {
  return path.replace(/^(\.?\/)*(workspace\/)?/, '');
}

/** One word of a shell, whatever is in it. Nothing of this is ever run. */
function quoted(argument: string): string {
  return /^[\w./:=@%+-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
