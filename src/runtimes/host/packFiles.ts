/** Folders as archives, and back: what a live sandbox's files travel as. Loaded when it is needed. */
import { acceptEntries } from '../../archive/acceptEntries.ts';
import type { LeftOut, TransferLimits } from '../../archive/entry.ts';
import { readArchive } from '../../archive/readArchive.ts';
import { writeArchive } from '../../archive/writeArchive.ts';
import type { Unpacked, UnpackOptions } from '../runtime.ts';
import { type FillOptions, fillFolder } from './fillFolder.ts';
import type { Folder } from './folder.ts';
import { PackedFiles } from './packedFiles.ts';
import { walkFile, walkFolder } from './walkFolder.ts';

/** Everything in a folder, which is closed when the archive is at its end. */
export function packFolder(folder: Folder, limits: TransferLimits, signal: AbortSignal): PackedFiles {
  const leftOut: LeftOut[] = [];
  const entries = walkFolder(folder, { ...limits, links: true, onLeftOut: (one) => leftOut.push(one) });
  return new PackedFiles({ chunks: writeArchive(entries), leftOut, signal, release: () => folder.close() });
}

/** One file of a folder, by its own name alone. */
export function packFile(
  folder: Folder,
  name: Buffer,
  limits: TransferLimits,
  signal: AbortSignal,
): PackedFiles {
  const leftOut: LeftOut[] = [];
  const entries = walkFile(folder, name, { ...limits, links: true, onLeftOut: (one) => leftOut.push(one) });
  return new PackedFiles({ chunks: writeArchive(entries), leftOut, signal, release: () => folder.close() });
}

/** Writes what an archive holds into a folder. */
export async function unpackInto(
  folder: Folder,
  archive: AsyncIterable<Uint8Array>,
  { links = 'refused', ...limits }: UnpackOptions,
  fill: FillOptions,
  signal: AbortSignal,
): Promise<Unpacked> {
  const entries = acceptEntries(readArchive(archive, signal), { ...limits, links: links === 'kept' });
  const { files, folders, bytes } = await fillFolder(folder, entries, fill);
  return { files, folders, bytes };
}
