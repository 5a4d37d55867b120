/** Programs of a folder, or of a file with one a line. */
import { createReadStream } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { isSandboxError, SandboxError } from '../../errors.ts';
import { languageOfFile } from '../../languages/index.ts';
import type { BatchProgram } from './batch.ts';
import { linesOf } from './lines.ts';
import { type Digested, programDigest } from './programDigest.ts';
import { type ProgramLine, readProgramLine } from './programLine.ts';

/** A program that was found, or why it cannot be read, which keeps the others from nothing. */
export type FoundProgram = {
  readonly id: string;
  /** As people find it: `line 7`, or nothing where the id says it. */
  readonly where: string;
} & (
  | { readonly sha256: string; readonly program: BatchProgram }
  | { readonly sha256: null; readonly error: SandboxError }
);

/** Where programs come from. */
export interface ProgramSource {
  /** Whether they can be read more than once. */
  readonly isLasting: boolean;
  read(): AsyncIterable<FoundProgram>;
}

/** The programs of a folder or of a file of lines. Throws `INPUT_INVALID` where there is neither, or nothing in the folder. */
export async function programsAt(path: string): Promise<ProgramSource> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) {
      const names = await programFilesIn(path);
      return { isLasting: true, read: () => programsOfFiles(path, names) };
    }
    return {
      isLasting: found.isFile(),
      read: () => programsOfLines(contentOf(path), path, dirname(path)),
    };
  } catch (error) {
    throw isSandboxError(error) ? error : unreadable(path, error);
  }
}

/** The programs of a stream of lines, in which paths are relative to `folder`. */
export function programsFrom(stream: AsyncIterable<Uint8Array>, name: string, folder: string): ProgramSource {
  return { isLasting: false, read: () => programsOfLines(stream, name, folder) };
}

async function* contentOf(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path);
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): SandboxError {
  const { code } = error as NodeJS.ErrnoException;
  const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
  return new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} ${reason}.`, {
    hint: 'Name a folder with programs, or a file with one JSON object a line.',
    details: { path },
    cause: error,
  });
}

async function programFilesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && languageOfFile(entry.name) !== undefined)
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'));
  if (names.length > 0) return names.sort();
  throw new SandboxError('INPUT_INVALID', `There are no programs in ${JSON.stringify(folder)}.`, {
    hint: 'Files count by their endings: .py, .js, .sh and the like.',
    details: { path: folder },
  });
}

async function* programsOfFiles(folder: string, names: readonly string[]): AsyncGenerator<FoundProgram> {
  for (const name of names) {
    yield found(name, '', async () => ({ code: await codeIn(folder, name), ...languageOf(name) }));
  }
}

async function* programsOfLines(
  stream: AsyncIterable<Uint8Array>,
  name: string,
  folder: string,
): AsyncGenerator<FoundProgram> {
  for await (const line of linesOf(stream, name)) {
    if (isBlank(line.bytes)) continue;
    const read = readProgramLine(line, name);
    yield found(read.id ?? String(line.number), `line ${line.number}`, () => programOf(read, folder));
  }
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

async function found(id: string, where: string, read: () => Promise<Digested>): Promise<FoundProgram> {
  try {
    const program = await read();
    return { id, where, sha256: programDigest(program), program: { id, ...program } };
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    return { id, where, sha256: null, error };
  }
}

async function programOf(line: ProgramLine, folder: string): Promise<Digested> {
  const { args, env, stdin, timeout } = line;
  const language = line.language === undefined ? languageOf(line.path ?? '') : { language: line.language };
  return {
    code: await codeOf(line, folder),
    ...language,
    ...(args === undefined ? {} : { args }),
    ...(env === undefined ? {} : { env }),
    ...(stdin === undefined ? {} : { stdin }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(line.files === undefined ? {} : { files: filesOf(line.files) }),
  };
}

async function codeOf(
  { code, code_base64, path }: ProgramLine,
  folder: string,
): Promise<string | Uint8Array> {
  if (path !== undefined) return codeIn(folder, path);
  return code ?? Buffer.from(code_base64 ?? '', 'base64');
}

function filesOf(files: NonNullable<ProgramLine['files']>): Record<string, Uint8Array> {
  const contents = Object.entries(files).map(
    ([path, { content, encoding }]) => [path, Buffer.from(content, encoding)] as const,
  );
  return Object.fromEntries(contents);
}

function languageOf(path: string): { language?: string } {
  const language = languageOfFile(path);
  return language === undefined ? {} : { language: language.name };
}

/** Only of files below the folder: whoever wrote the list may want to see others of this host in a traceback. */
async function codeIn(folder: string, path: string): Promise<Uint8Array> {
  try {
    const root = await realpath(folder);
    const file = await realpath(resolve(root, path));
    const below = relative(root, file);
    if (below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below)) throw outside(path);
    // Nobody may ever write to a pipe.
    if (!(await stat(file)).isFile()) throw noFile(path, 'is no file');
    return await readFile(file);
  } catch (error) {
    if (isSandboxError(error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw noFile(path, code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`, error);
  }
}

function outside(path: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `The program ${JSON.stringify(path)} is outside of the folder.`, {
    hint: 'Put it below the folder of the file that names it.',
    details: { path },
  });
}

function noFile(path: string, reason: string, cause?: unknown): SandboxError {
  return new SandboxError('INPUT_INVALID', `The program ${JSON.stringify(path)} ${reason}.`, {
    hint: 'Paths are relative to the folder of the file that names them.',
    details: { path },
    ...(cause === undefined ? {} : { cause }),
  });
}
