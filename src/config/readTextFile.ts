import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { unusableFile } from './refusals.ts';

/** Far above any real configuration file. */
const MAX_FILE_BYTES = 1024 * 1024;

/** A configuration file as it was read, at once. */
export interface TextFile {
  readonly text: string;
  /** What the text was decoded from: whoever trusts these bytes trusts this text. */
  readonly bytes: Uint8Array;
}

/** A configuration file, or undefined when nothing at all is there; anything else is refused. */
export async function readTextFile(path: string, origin: string): Promise<TextFile | undefined> {
  const refused = (problem: string, hint: string, cause?: unknown) =>
    unusableFile(path, problem, hint, { origin }, cause);
  let handle: FileHandle;
  try {
    // Without O_NONBLOCK, opening a pipe of that name would wait for ever.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (await isAbsent(path, code)) return undefined;
    throw refused(`The file cannot be opened (${code}).`, 'Make it readable, or remove it.', error);
  }
  try {
    if (!(await handle.stat()).isFile()) {
      throw refused('This is not a regular file.', 'Put a YAML file there, or remove it.');
    }
    const bytes = await readUpTo(handle, MAX_FILE_BYTES + 1);
    if (bytes.length > MAX_FILE_BYTES) {
      throw refused(`The file is larger than ${MAX_FILE_BYTES} bytes.`, 'Make it smaller, or remove it.');
    }
    return { text: decode(bytes, refused), bytes };
  } finally {
    await handle.close();
  }
}

/** A link that leads nowhere is not absent: somebody meant a file to be there. */
async function isAbsent(path: string, code: string | undefined): Promise<boolean> {
  if (code === 'ENOTDIR') return true;
  if (code !== 'ENOENT') return false;
  return lstat(path).then(
    () => false,
    () => true,
  );
}

async function readUpTo(handle: FileHandle, limit: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(limit);
  let length = 0;
  while (length < limit) {
    const { bytesRead } = await handle.read(buffer, length, limit - length, null);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

function decode(
  bytes: Uint8Array,
  refused: (problem: string, hint: string, cause: unknown) => Error,
): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw refused('The file is not UTF-8.', 'Save it as UTF-8.', error);
  }
}
