/** What the user wants to run, and what it is given: the flags that every way of running a program has. */
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { SandboxError } from '../errors.ts';
import { languageOfFile } from '../languages/index.ts';
import type { Job } from '../operations/job.ts';

export interface ProgramFlags {
  readonly code?: string;
  readonly language?: string;
  readonly command?: boolean;
}

export interface What {
  readonly job: Job;
  readonly programArgs: readonly string[];
  readonly language?: string;
}

/** Code or a command, from the flags, a file or standard input. Throws `INPUT_INVALID` where there is none. */
export async function whatToRun(
  file: string | undefined,
  args: readonly string[],
  flags: ProgramFlags,
  example: string,
): Promise<What> {
  const all = file === undefined ? args : [file, ...args];
  if (flags.command) {
    const [program, ...rest] = all;
    if (flags.code !== undefined || program === undefined) {
      throw new SandboxError('INPUT_INVALID', '--command needs the command after --, and no code.', {
        hint: `For example: ${example} --command -- ls -la`,
      });
    }
    return { job: { command: [program, ...rest] }, programArgs: [] };
  }
  if (flags.code !== undefined) {
    return { job: { code: flags.code }, programArgs: all, ...languageOption(flags.language) };
  }
  if (file === undefined) {
    throw new SandboxError('INPUT_INVALID', 'There is nothing to run.', {
      hint: `Name a file, give code with -c, or read it from standard input with -: ${example} hello.py`,
    });
  }
  const code = file === '-' ? await buffer(process.stdin) : await readHostFile(file, 'The program');
  return {
    job: { code },
    programArgs: args,
    ...languageOption(flags.language ?? languageOfFile(file)?.name),
  };
}

function languageOption(language: string | undefined): { language?: string } {
  return language === undefined ? {} : { language };
}

/** The bytes of a file of this host; `what` it is begins the message when it cannot be read. */
export async function readHostFile(path: string, what: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason =
      code === 'ENOENT' ? 'does not exist' : code === 'EISDIR' ? 'is a folder' : `cannot be read (${code})`;
    throw new SandboxError('INPUT_INVALID', `${what} ${JSON.stringify(path)} ${reason}.`, {
      hint: 'Check the path; it is relative to the folder that you are in.',
      details: { path },
      cause: error,
    });
  }
}

/** `NAME=VALUE`. Throws `INPUT_INVALID` without showing the value: it may be a secret. */
export function parseVariable(given: string): [string, string] {
  const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(given) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw new SandboxError(
    'INPUT_INVALID',
    `--env needs NAME=VALUE, and ${JSON.stringify(given.split('=')[0])} is not that.`,
    {
      hint: 'For example: --env GREETING=hello',
    },
  );
}
