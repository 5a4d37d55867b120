import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import type { LanguageName } from '../../../src/languages/language.ts';

/** A small program that could tell whether it was warmed, and all that it is given. */
export interface CorpusProgram {
  /** Unique in its language. */
  readonly name: string;
  readonly code: Uint8Array;
  readonly args: readonly string[];
  /** Variables besides those that every program gets. */
  readonly env: Readonly<Record<string, string>>;
  /** Absent where the program has no standard input. */
  readonly stdin?: Uint8Array;
  /** Text files beside the program, by path. */
  readonly files: Readonly<Record<string, string>>;
  /** It reaches others, or prints who it is: only where it is alone. */
  readonly onlyInSandbox: boolean;
}

const partsSchema = z.strictObject({
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  files: z.record(z.string(), z.string()).default({}),
  onlyInSandbox: z.boolean().default(false),
  stdin: z.string().optional(),
  stdinHex: z.string().optional(),
  stdinRepeat: z.tuple([z.string(), z.number()]).optional(),
  /** The whole code, where it is no text. */
  codeHex: z.string().optional(),
});

/**
 * The programs of a language, in the order of the files and of their places there. In a file each begins with a line
 * `=== name`; lines `--- key: JSON` right below say what it is given.
 */
export function readCorpus(language: LanguageName): readonly CorpusProgram[] {
  const folder = new URL(`${language}/`, import.meta.url);
  const texts = readdirSync(folder)
    .sort()
    .map((file) => readFileSync(new URL(file, folder), 'utf8'));
  const programs = texts.flatMap((text) => text.split(/^=== /m).slice(1).map(readProgram));
  const names = new Set(programs.map(({ name }) => name));
  if (names.size !== programs.length) throw new Error(`Two programs in ${language} have the same name.`);
  return programs;
}

function readProgram(section: string): CorpusProgram {
  const [name = '', ...lines] = section.split('\n');
  const firstOfCode = lines.findIndex((line) => !line.startsWith('--- '));
  const given = lines.slice(0, firstOfCode).map((line) => {
    const colon = line.indexOf(':');
    return [line.slice('--- '.length, colon), JSON.parse(line.slice(colon + 1))];
  });
  const { codeHex, stdin, stdinHex, stdinRepeat, ...parts } = partsSchema.parse(Object.fromEntries(given));
  const text = stdinRepeat === undefined ? stdin : stdinRepeat[0].repeat(stdinRepeat[1]);
  const input = stdinHex === undefined ? text && Buffer.from(text) : Buffer.from(stdinHex, 'hex');
  const code = codeHex === undefined ? lines.slice(firstOfCode).join('\n') : Buffer.from(codeHex, 'hex');
  return {
    ...{ ...parts, name, code: Buffer.from(code) },
    ...(text === '' ? { stdin: new Uint8Array() } : input ? { stdin: input } : {}),
  };
}
