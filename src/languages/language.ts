/** The languages that there is a file for in this folder. */
export const LANGUAGE_NAMES = ['python', 'javascript', 'shell'] as const;

export type LanguageName = (typeof LANGUAGE_NAMES)[number];

/** All that the rest of the project knows about a language; adding one is one file like `python.ts`. */
export interface Language {
  readonly name: LanguageName;
  /** What people also call it on a command line, lower case. */
  readonly aliases: readonly string[];
  /** File endings that mean this language, with the dot. */
  readonly extensions: readonly string[];
  /** The name of the code file in the workspace; tracebacks show it. */
  readonly fileName: string;
  /** The command that runs a file: the interpreter's own options, then the file, then the program's arguments. */
  command(interpreter: string, file: string, args: readonly string[]): readonly [string, ...string[]];
  /** Where a runtime that uses the host's interpreters looks for one. */
  readonly host: HostInterpreter;
}

export interface HostInterpreter {
  /** Names to look for on PATH, best first. */
  readonly candidates: readonly string[];
  /** The setting that names one; for messages. */
  readonly variable: string;
  /** What to say when there is none. */
  readonly install: string;
  /** Arguments that make it print NUL-separated: its real path, its version, and folders that it needs to run. */
  readonly describe: readonly string[];
}
