/** What is in a workspace: looked at entry by entry, while it is carried. */
import { createHash } from 'node:crypto';
import { type AcceptedEntry, acceptEntries } from '../../archive/acceptEntries.ts';
import { type ArchiveEntry, type LeftOut, nameOf } from '../../archive/entry.ts';
import { readArchive } from '../../archive/readArchive.ts';
import { writeArchive } from '../../archive/writeArchive.ts';
import { SandboxError } from '../../errors.ts';
import type { Guest, TransferLimits } from '../../runtimes/runtime.ts';
import type { Spool } from './spool.ts';
import type { Tree, TreeEntry } from './tree.ts';

/** Which contents are kept, and where. */
export interface Keeping {
  readonly spool: Spool;
  /** Before a file is read. */
  wants(entry: Pick<TreeEntry, 'path' | 'size' | 'type'>): boolean;
  /** Once it was read: whether its content is forgotten again. */
  drops?(entry: TreeEntry): boolean;
}

export interface Reading {
  readonly limits: TransferLimits;
  readonly keeping?: Keeping;
  readonly signal?: AbortSignal | undefined;
}

/** The tree of a guest's workspace. */
export async function readTree(guest: Guest, reading: Reading): Promise<Tree> {
  const noted = new Noted(guest, reading);
  for await (const { content = [] } of noted) for await (const _ of content);
  return noted.tree();
}

/** Carries a workspace into another guest's, which is empty; the tree is what was carried. */
export async function copyTree(from: Guest, to: Guest, reading: Reading): Promise<Tree> {
  const noted = new Noted(from, reading);
  await to.unpack('.', writeArchive(noted), {
    ...reading.limits,
    links: 'kept',
    ...(reading.signal === undefined ? {} : { signal: reading.signal }),
  });
  return noted.tree();
}

/** All names of a workspace, as they are shown, and where its links lead; 100,000 files of a project have some 8 MB. */
const MAX_NAME_BYTES = 16 * 1024 ** 2;

/** The entries of a workspace as they come, of which a note is taken as they pass by. */
class Noted implements AsyncIterable<ArchiveEntry> {
  readonly #guest: Guest;
  readonly #reading: Reading;
  readonly #entries = new Map<string, TreeEntry>();
  readonly #leftOut: LeftOut[] = [];
  /** A program chooses names, and we keep them. */
  #nameBytes = 0;
  #isWhole = false;

  constructor(guest: Guest, reading: Reading) {
    this.#guest = guest;
    this.#reading = reading;
  }

  tree(): Tree {
    if (!this.#isWhole) throw new Error('the workspace was not read to its end');
    return { entries: this.#entries, leftOut: this.#leftOut };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ArchiveEntry> {
    const { limits, signal } = this.#reading;
    const archive = await this.#guest.pack('.', limits);
    try {
      const onLeftOut = (one: LeftOut): void => {
        this.#count(one);
        this.#leftOut.push(one);
      };
      for await (const entry of acceptEntries(readArchive(archive, signal), {
        ...{ ...limits, links: true, onLeftOut },
      })) {
        this.#count(entry);
        if (entry.components.length > 0) yield this.#note(entry);
      }
      archive.leftOut.forEach(onLeftOut);
      this.#isWhole = true;
    } finally {
      archive.destroy();
    }
  }

  #count({ path, target }: { readonly path: string; readonly target?: Buffer }): void {
    this.#nameBytes += path.length + (target?.length ?? 0);
    if (this.#nameBytes <= MAX_NAME_BYTES) return;
    throw new SandboxError('INPUT_INVALID', `All names together have more than ${MAX_NAME_BYTES} bytes.`, {
      hint: 'Remove what is not needed, or give it shorter names.',
    });
  }

  #note(found: AcceptedEntry): ArchiveEntry {
    const { path, type, executable, size, target, modifiedAt } = found;
    const name = nameOf(found.components);
    if (type === 'file') {
      return { name, type, executable, size, modifiedAt, content: this.#content(found, name) };
    }
    this.#entries.set(path, {
      ...{ name, path, type, executable: false, size: 0 },
      ...(type === 'symlink' ? { target } : {}),
    });
    return type === 'symlink' ? { name, type, target } : { name, type };
  }

  async *#content(found: AcceptedEntry, name: Buffer): AsyncGenerator<Uint8Array> {
    const { path, executable, size } = found;
    const { keeping } = this.#reading;
    const hash = createHash('sha256');
    const entry = { name, path, type: 'file' as const, executable, size };
    const kept = keeping?.wants(entry) ? { spool: keeping.spool, offset: keeping.spool.end } : undefined;
    for await (const chunk of found.content) {
      hash.update(chunk);
      await kept?.spool.add(chunk);
      yield chunk;
    }
    const noted = { ...entry, sha256: hash.digest('hex') };
    if (kept !== undefined && keeping?.drops?.(noted)) {
      kept.spool.rewind(kept.offset);
      this.#entries.set(path, noted);
    } else {
      this.#entries.set(path, kept === undefined ? noted : { ...noted, kept: { offset: kept.offset, size } });
    }
  }
}
