/** The files of a sandbox: single ones as they are, and whole folders. */
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { SandboxError } from '../../errors.ts';
import type { FileEntry, LeftOut } from '../../runtimes/runtime.ts';
import { forTerminal } from '../terminal.ts';
import { warn } from '../warn.ts';
import { ask, askJson, brokenOff, tell } from './ask.ts';
import { hostOf, pathOf } from './hosts.ts';

interface JsonFlag {
  readonly json?: boolean;
}

/** Writes a file of the sandbox from a file, from standard input or from a text; resolves to the exit status. */
export async function write(
  id: string,
  path: string,
  file: string | undefined,
  flags: JsonFlag & { readonly text?: string },
): Promise<number> {
  if (flags.text !== undefined && file !== undefined) {
    throw new SandboxError('INPUT_INVALID', '--text and a file contradict each other.', {
      hint: 'Leave one of them out.',
    });
  }
  const body = flags.text === undefined ? await contentOf(file) : Buffer.from(flags.text);
  const written = await askJson(await hostOf(id), {
    method: 'PUT',
    path: `${pathOf(id)}/files/content?${query({ path })}`,
    body,
  });
  if (flags.json) process.stdout.write(`${JSON.stringify(written)}\n`);
  return 0;
}

/** Prints a file of the sandbox byte for byte, or writes it to a file; resolves to the exit status. */
export async function read(
  id: string,
  path: string,
  flags: JsonFlag & { readonly out?: string },
): Promise<number> {
  const answer = await ask(await hostOf(id), { path: `${pathOf(id)}/files/content?${query({ path })}` });
  if (flags.json && flags.out === undefined) {
    process.stdout.write(`${JSON.stringify(contentJson(path, await buffer(answer)))}\n`);
    return 0;
  }
  const target = flags.out === undefined ? process.stdout : await openForWriting(flags.out);
  try {
    await pipeline(answer, target, { end: flags.out !== undefined });
  } catch (error) {
    // Our own output failed, and that has been told.
    if (typeof process.exitCode === 'number' && process.exitCode !== 0) return process.exitCode;
    throw answer.errored === null
      ? notWritten(flags.out ?? 'standard output', error)
      : brokenOff(answer, error);
  }
  if (flags.json) process.stdout.write(`${JSON.stringify({ path, file: flags.out })}\n`);
  return 0;
}

function contentJson(path: string, bytes: Buffer): Record<string, unknown> {
  const text = bytes.toString('utf8');
  const encoding = Buffer.from(text).equals(bytes) ? 'utf8' : 'base64';
  return { path, content: bytes.toString(encoding), encoding, size: bytes.length };
}

type EntryJson = Omit<FileEntry, 'modifiedAt'> & { readonly modified_at: string };

/** Lists a folder of the sandbox; resolves to the exit status. */
export async function listFiles(id: string, path: string | undefined, flags: JsonFlag): Promise<number> {
  const { files, truncated } = await askJson<{ files: readonly EntryJson[]; truncated?: true }>(
    await hostOf(id),
    { path: `${pathOf(id)}/files?${query({ path: path ?? '.' })}` },
  );
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ files, ...(truncated ? { truncated } : {}) })}\n`);
    return 0;
  }
  const width = Math.max(0, ...files.map(({ size }) => String(size).length));
  for (const { name, type, size, modified_at } of files) {
    const time = modified_at.slice(0, 16).replace('T', ' ');
    process.stdout.write(`${String(size).padStart(width)}  ${time}  ${forTerminal(name)}${MARK[type]}\n`);
  }
  if (truncated) warn(`There are more than these ${files.length}.`);
  return 0;
}

/** As `ls -F` marks them. */
const MARK: Readonly<Record<FileEntry['type'], string>> = {
  file: '',
  directory: '/',
  symlink: '@',
  other: '?',
};

/** Removes a file or a folder of the sandbox; resolves to the exit status. */
export async function removeFile(
  id: string,
  path: string,
  flags: JsonFlag & { readonly recursive?: boolean },
): Promise<number> {
  const recursive = String(flags.recursive === true);
  await tell(await hostOf(id), {
    method: 'DELETE',
    path: `${pathOf(id)}/files?${query({ path, recursive })}`,
  });
  if (flags.json) process.stdout.write(`${JSON.stringify({ path })}\n`);
  return 0;
}

interface TransferredJson {
  readonly files: number;
  readonly bytes: number;
  readonly skipped: readonly LeftOut[];
}

/** Carries a file or a folder's content into the sandbox; resolves to the exit status. */
export async function upload(
  id: string,
  hostPath: string,
  path: string | undefined,
  flags: JsonFlag & { readonly exclude?: readonly string[] },
): Promise<number> {
  const json = { host_path: resolve(hostPath), path: path ?? '.', exclude: flags.exclude ?? [] };
  return carried(
    await askJson(await hostOf(id), { method: 'POST', path: `${pathOf(id)}/uploads`, json }),
    flags,
  );
}

/** Carries a file or a folder's content into a folder of this host; resolves to the exit status. */
export async function download(
  id: string,
  path: string,
  hostFolder: string,
  flags: JsonFlag & { readonly overwrite?: boolean },
): Promise<number> {
  const json = { path, host_folder: resolve(hostFolder), overwrite: flags.overwrite === true };
  return carried(
    await askJson(await hostOf(id), { method: 'POST', path: `${pathOf(id)}/downloads`, json }),
    flags,
  );
}

function carried(what: TransferredJson, flags: JsonFlag): number {
  if (flags.json) {
    process.stdout.write(`${JSON.stringify(what)}\n`);
    return 0;
  }
  for (const { path, because } of what.skipped) warn(`${path} was left out: ${because}`);
  process.stdout.write(`${what.files} ${what.files === 1 ? 'file' : 'files'}, ${what.bytes} bytes\n`);
  return 0;
}

async function openForWriting(path: string): Promise<Writable> {
  try {
    return (await open(path, 'w')).createWriteStream();
  } catch (error) {
    throw notWritten(path, error);
  }
}

function notWritten(path: string, cause: unknown): SandboxError {
  return new SandboxError(
    'INPUT_INVALID',
    `${JSON.stringify(path)} cannot be written: ${(cause as Error).message}`,
    { hint: 'Name a place that you may write: -o FILE', cause },
  );
}

async function contentOf(file: string | undefined): Promise<Readable> {
  if (file === undefined || file === '-') return process.stdin;
  try {
    const handle = await open(file);
    if ((await handle.stat()).isDirectory()) {
      await handle.close();
      throw new SandboxError('INPUT_INVALID', `The file ${JSON.stringify(file)} is a folder.`, {
        hint: 'Whole folders: glovebox sandbox upload',
      });
    }
    return handle.createReadStream();
  } catch (error) {
    if (error instanceof SandboxError) throw error;
    throw new SandboxError(
      'INPUT_INVALID',
      `The file ${JSON.stringify(file)} cannot be read: ${(error as Error).message}`,
      { hint: 'Check the path; it is relative to the folder that you are in.', cause: error },
    );
  }
}

function query(values: Readonly<Record<string, string>>): string {
  return new URLSearchParams(values).toString();
}
