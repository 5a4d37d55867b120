/** Archives into a container and out of it: made and taken apart in there, and looked through here. */
import { acceptEntries } from '../../archive/acceptEntries.ts';
import { type ArchiveEntry, type LeftOut, nameOf } from '../../archive/entry.ts';
import { readArchive } from '../../archive/readArchive.ts';
import { writeArchive } from '../../archive/writeArchive.ts';
import { isSandboxError } from '../../errors.ts';
import { PackedFiles } from '../host/packedFiles.ts';
import type { TransferLimits, Unpacked, UnpackOptions } from '../runtime.ts';
import type { LongExec } from './exec.ts';
import { UNPACKED } from './fileScript.ts';
import { containerFailed } from './program.ts';

type Refusal = (code: number, said: string) => Error;

/** What `tar` ends with when it left something out that changed or could not be read. */
const IN_PART = [1, 2];

/** What `tar` writes in there, entry by entry: only what is sane goes on. */
export async function packOf(
  exec: LongExec,
  limits: TransferLimits,
  signal: AbortSignal,
  refusalFor: Refusal,
): Promise<PackedFiles> {
  const output = exec.output();
  try {
    // A refusal says so before there is any output.
    const first = await output.next();
    if (first.done) throw refusalFor(await exec.code(), await exec.complaint);
    const leftOut: LeftOut[] = [];
    return new PackedFiles({
      chunks: writeArchive(saneEntries(first.value)),
      leftOut,
      signal,
      interrupt: () => exec.close(),
      release: () => exec.close(),
    });

    async function* saneEntries(begun: Uint8Array): AsyncGenerator<ArchiveEntry> {
      const onLeftOut = (one: LeftOut): void => void leftOut.push(one);
      const whole = (async function* () {
        yield begun;
        yield* output;
      })();
      try {
        for await (const entry of acceptEntries(readArchive(whole), { ...limits, links: true, onLeftOut })) {
          const { components, type, target, ...rest } = entry;
          if (components.length === 0) continue;
          const name = nameOf(components);
          if (type === 'symlink') yield { ...rest, type, name, size: 0, content: [], target };
          else yield { ...rest, type, name, ...(type === 'directory' ? { size: 0, content: [] } : {}) };
        }
      } catch (error) {
        throw isSandboxError(error) ? error : containerFailed(error);
      }
      const code = await exec.code();
      const said = await exec.complaint;
      // GNU tar warns of what it may not read, and says that all is well.
      if (code === 0 && said === '') return;
      if (code !== 0 && !IN_PART.includes(code)) throw refusalFor(code, said);
      leftOut.push(...leftOutBy(said));
    }
  } catch (error) {
    exec.close();
    throw isSandboxError(error) ? error : containerFailed(error);
  }
}

/** What GNU tar says that it did not take; what it says in other words concerns nobody knows what. Pure. */
export function leftOutBy(said: string): LeftOut[] {
  const lines = said.split('\n').filter((line) => line !== '');
  const named = lines.map((line): LeftOut | undefined => {
    const [, path = '', reason = ''] = COMPLAINT.exec(line) ?? [];
    const because = REASONS[reason];
    return because === undefined ? undefined : { path, because };
  });
  const unknown = lines
    .filter((_, index) => named[index] === undefined)
    .join('\n')
    .slice(0, 1000);
  const rest = { path: '.', because: `not read: ${unknown || 'no reason given'}` };
  return [...named.filter((one) => one !== undefined), ...(unknown === '' && lines.length > 0 ? [] : [rest])];
}

/** A name with a character of its own is escaped, and not read back; nor is one that could be a part of the sentence. */
const COMPLAINT = /^tar: \.\/([^\\:]+): (?:Warning: )?(socket ignored|Cannot open: Permission denied)$/;

const REASONS: Readonly<Record<string, string>> = {
  'socket ignored': 'a socket',
  'Cannot open: Permission denied': 'it cannot be read',
};

/** Sends what is sane of an archive to `tar` in there. */
export async function unpackIn(
  exec: LongExec,
  archive: AsyncIterable<Uint8Array>,
  { links = 'refused', ...limits }: UnpackOptions,
  signal: AbortSignal,
  refusalFor: Refusal,
): Promise<Unpacked> {
  const count = { files: 0, folders: 0, bytes: 0 };
  const abort = (): void => exec.close();
  signal.addEventListener('abort', abort, { once: true });
  async function* sent(): AsyncGenerator<ArchiveEntry> {
    yield { name: Buffer.from(UNPACKED.folder), type: 'directory' };
    const accepted = acceptEntries(readArchive(archive, signal), { ...limits, links: links === 'kept' });
    for await (const { components, type, target, ...rest } of accepted) {
      if (components.length === 0) continue;
      const name = nameOf([Buffer.from(UNPACKED.folder), ...components]);
      if (type === 'file') yield { ...rest, type, name };
      else if (type === 'symlink') yield { name, type, target };
      else yield { name, type };
      if (type === 'directory') count.folders++;
      else count.files++;
      if (type === 'file') count.bytes += rest.size;
    }
    // Only who sees this takes over what came before it.
    yield { name: Buffer.from(UNPACKED.end), type: 'file' };
  }
  let wrong: { readonly error: unknown } | undefined;
  const bytes = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* writeArchive(sent());
    } catch (error) {
      wrong = { error };
      throw error;
    }
  };
  try {
    // What goes wrong with the archive is told when the container has put away what came of it.
    await exec.give(bytes()).catch((error: unknown) => {
      if (wrong === undefined) throw error;
    });
    exec.endInput();
    const code = signal.aborted ? 0 : await exec.code();
    if (wrong === undefined && code !== 0) throw refusalFor(code, await exec.complaint);
  } catch (error) {
    if (!signal.aborted) throw isSandboxError(error) ? error : containerFailed(error);
  } finally {
    signal.removeEventListener('abort', abort);
    exec.close();
  }
  signal.throwIfAborted();
  if (wrong !== undefined) throw wrong.error;
  return count;
}
