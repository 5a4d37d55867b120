/** The file that results are written to, which a later run can go on with. */
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { SandboxError } from '../../errors.ts';
import { asProcessOwner, lifeOf, thisProcess } from '../../files/processOwner.ts';
import { type HeldResults, readResults } from '../../operations/batch/resultLine.ts';

import { NO_RESULTS, type Results } from './results.ts';

/** A file of results that only this process writes to. */
export class OutputFile implements Results {
  readonly held: HeldResults;
  readonly isTerminal = false;
  readonly #path: string;
  readonly #lock: string;
  #file: FileHandle | undefined;
  #hasFailed = false;

  private constructor(path: string, lock: string, held: HeldResults) {
    this.#path = path;
    this.#lock = lock;
    this.held = held;
  }

  /**
   * Takes it, with `resume` together with the results in it, and changes nothing yet. Throws `INPUT_INVALID` where it is
   * there already and not to be gone on with, is no file of results, or another process writes to it.
   */
  static async take(path: string, { resume }: { readonly resume: boolean }): Promise<OutputFile> {
    await refuseSpecial(path);
    const lock = await takeLock(path);
    try {
      return new OutputFile(path, lock, resume ? await heldIn(path) : await nothingIn(path));
    } catch (error) {
      await rm(lock, { force: true });
      throw error;
    }
  }

  async begin(): Promise<void> {
    await this.#writing(async () => {
      this.#file = await open(this.#path, 'a');
      await this.#file.truncate(this.held.end);
    });
  }

  async write(line: string): Promise<void> {
    await this.#writing(async () => this.#file?.appendFile(line));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      // What has failed is told already, and a second failure would stand in front of it.
      if (!this.#hasFailed) await this.#writing(async () => this.#file?.sync());
    } finally {
      await this.#file?.close();
      this.#file = undefined;
      await rm(this.#lock, { force: true });
    }
  }

  async #writing(action: () => Promise<void> | undefined): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#hasFailed = true;
      throw cannotWrite(this.#path, error);
    }
  }
}

/** What is no file cannot be cut off and gone on with, and whoever opens a pipe may wait for ever. */
async function refuseSpecial(path: string): Promise<void> {
  try {
    if ((await stat(path)).isFile()) return;
  } catch {
    // It is made then; what else is wrong with it is told by whoever makes it.
    return;
  }
  throw new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} is there already, and is no file.`, {
    hint: 'Name a file with --output; without it, results go to standard output.',
    details: { path },
  });
}

async function heldIn(path: string): Promise<HeldResults> {
  try {
    return await readResults(createReadStream(path), path);
  } catch (error) {
    // Nothing was begun that could be gone on with.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NO_RESULTS;
    throw error;
  }
}

async function nothingIn(path: string): Promise<HeldResults> {
  const content = createReadStream(path);
  try {
    for await (const chunk of content) if (chunk.length > 0) throw isThere(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return NO_RESULTS;
}

function isThere(path: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `There is something in ${JSON.stringify(path)} already.`, {
    hint: 'Go on with the results in it with --resume, or name another file.',
    details: { path },
  });
}

/** A file beside it that names this process; one that a killed process left counts for nothing. */
async function takeLock(path: string): Promise<string> {
  const lock = `${path}.lock`;
  if ((await isNew(lock)) || (await isTakenOver(lock))) return lock;
  throw inUse(path, lock);
}

/** Only one takes a dead one's lock away: a second would take away what the first has made by then. */
async function isTakenOver(lock: string): Promise<boolean> {
  const breaking = `${lock}.breaking`;
  if (await isInUse(lock)) return false;
  if (!(await isNew(breaking))) {
    // Of one that was killed in between: it is away for the next try, as two may have seen that it is dead.
    if (!(await isInUse(breaking))) await rm(breaking, { force: true });
    return false;
  }
  try {
    if (await isInUse(lock)) return false;
    await rm(lock, { force: true });
    return await isNew(lock);
  } finally {
    await rm(breaking, { force: true });
  }
}

async function isNew(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, JSON.stringify(thisProcess()), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw cannotWrite(lock, error);
  }
}

async function isInUse(lock: string): Promise<boolean> {
  try {
    const owner = asProcessOwner(JSON.parse(await readFile(lock, 'utf8')));
    return owner === undefined || lifeOf(owner) !== 'dead';
  } catch (error) {
    // Given back meanwhile; anything else is no lock of ours, or one that is being made.
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

function inUse(path: string, lock: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `Another run-many writes to ${JSON.stringify(path)}.`, {
    hint: `Wait for it, or name another file. Where none runs any more, remove ${lock}.`,
    details: { path, lock },
  });
}

function cannotWrite(path: string, error: unknown): SandboxError {
  return new SandboxError(
    'INPUT_INVALID',
    `${JSON.stringify(path)} cannot be written: ${(error as Error).message}`,
    { hint: 'Name a place that you may write, with room: --output FILE', details: { path }, cause: error },
  );
}
