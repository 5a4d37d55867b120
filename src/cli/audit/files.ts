import { readFile, writeFile } from 'node:fs/promises';
import { SandboxError } from '../../errors.ts';

/** Throws `INPUT_INVALID` where it cannot be read. */
export async function textFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw unusable(`The file ${path} cannot be read: ${(error as Error).message}`, error);
  }
}

/** Throws `INPUT_INVALID` where it is no JSON. */
export async function jsonFile(path: string): Promise<unknown> {
  const text = await textFile(path);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unusable(`The file ${path} is no JSON.`, error);
  }
}

/** Writes a file that is not there yet, or standard output. Throws `INPUT_INVALID` where it cannot. */
export async function give(text: string, path: string | undefined, mode = 0o644): Promise<void> {
  if (path === undefined) {
    process.stdout.write(text);
    return;
  }
  try {
    await writeFile(path, text, { flag: 'wx', mode });
  } catch (error) {
    throw unusable(`The file ${path} cannot be written: ${(error as Error).message}`, error);
  }
}

function unusable(message: string, cause: unknown): SandboxError {
  return new SandboxError('INPUT_INVALID', message, { hint: 'Name another file.', cause });
}
