import { type Dirent, opendirSync } from 'node:fs';
import type { Folder } from './folder.ts';

/** The names in a folder as they come, bit by bit: a guest can make millions. */
export function* eachName(folder: Folder): Generator<Buffer> {
  // The types know names as text only.
  const listing = opendirSync(folder.self, { encoding: 'buffer' as BufferEncoding, bufferSize: 256 });
  try {
    for (;;) {
      const found = listing.readSync() as Dirent<Buffer> | null;
      if (found === null) return;
      yield found.name;
    }
  } finally {
    listing.closeSync();
  }
}

/** The names in a folder, sorted; where there are more than so many, which ones is not said. */
export function namesIn(folder: Folder, max: number): Buffer[] {
  const names: Buffer[] = [];
  for (const name of eachName(folder)) {
    if (names.length >= max) break;
    names.push(name);
  }
  return names.sort(Buffer.compare);
}
