/** Makes a workspace into what a copy of it has become: all of it, or nothing. */
import type { ArchiveEntry } from '../../archive/entry.ts';
import { writeArchive } from '../../archive/writeArchive.ts';
import { isSandboxError, SandboxError } from '../../errors.ts';
import type { Guest, TransferLimits } from '../../runtimes/runtime.ts';
import { readTree } from './readTree.ts';
import { Spool } from './spool.ts';
import { type Difference, differenceOf, differingPaths, isWithin, type Tree, topmost } from './tree.ts';

/** What a workspace was, and what it shall be. */
export interface Wanted {
  readonly before: Tree;
  readonly after: Tree;
  /** Where the contents are of all that is new or changed in `after`. */
  readonly spool: Spool;
}

/** How many files are removed at a time; with some engines each takes a tenth of a second. */
const AT_A_TIME = 8;

/** So many paths are named. */
const MAX_NAMED = 20;

/**
 * Throws `WORKSPACE_CHANGED` when the workspace is no more what it was, before anything is done to it; and when somebody
 * else wrote to it at the same time. When it cannot be done, with no room on the disk for instance, it is undone.
 */
export async function applyDifference(
  guest: Guest,
  { before, after, spool }: Wanted,
  limits: TransferLimits,
): Promise<void> {
  const forth = stepsOf(before, after, LARGE_BYTES);
  const { writes: lost } = stepsOf(after, before, 0);
  const old = await Spool.open();
  try {
    const keeping = { spool: old, wants: ({ path }: { readonly path: string }) => lost.has(path) };
    const now = await readTree(guest, { limits, keeping });
    const elsewhere = differingPaths(before, now);
    if (elsewhere.length > 0) throw changedSince(elsewhere);
    assertCarried(now, [...forth.removes, ...forth.writes]);
    try {
      await take(guest, forth, after, spool, limits);
    } catch (error) {
      throw await undone(error, async () => {
        const half = await readTree(guest, { limits });
        // With all that came gone first, what was there fits.
        await take(guest, stepsOf(half, now, 0), now, old, limits);
      });
    }
    const wrong = differingPaths({ ...after, leftOut: before.leftOut }, await readTree(guest, { limits }));
    if (wrong.length > 0) throw changedMeanwhile(wrong);
  } finally {
    await old.close();
  }
}

interface Steps {
  /** Whose folders go with all that is in them. */
  readonly removes: readonly string[];
  readonly writes: ReadonlySet<string>;
}

/** A file that is replaced is removed first when it has this many bytes: there need not be room for both. */
const LARGE_BYTES = 64 * 1024;

/** Pure. */
function stepsOf(from: Tree, to: Tree, largeBytes: number): Steps {
  const { added, changed, removed }: Difference = differenceOf(from, to);
  // Nothing is written over something else, or through a link.
  const replaced = changed.filter(
    ({ before, after }) => before.type !== after.type || before.type !== 'file' || before.size >= largeBytes,
  );
  return {
    removes: topmost([...removed, ...replaced.map(({ before }) => before)].map(({ path }) => path)),
    writes: new Set([...added, ...changed.map(({ after }) => after)].map(({ path }) => path)),
  };
}

async function take(
  guest: Guest,
  { removes, writes }: Steps,
  to: Tree,
  spool: Spool,
  limits: TransferLimits,
): Promise<void> {
  for (let done = 0; done < removes.length; done += AT_A_TIME) {
    const some = removes.slice(done, done + AT_A_TIME);
    const removals = await Promise.allSettled(some.map((path) => remove(guest, path)));
    const failed = removals.find((removal) => removal.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
  if (writes.size > 0) {
    await guest.unpack('.', writeArchive(entriesOf(to, writes, spool)), { ...limits, links: 'kept' });
  }
}

async function remove(guest: Guest, path: string): Promise<void> {
  try {
    await guest.removeFile(path, { recursive: true });
  } catch (error) {
    // It need not be there when something is undone.
    if (!isSandboxError(error) || error.code !== 'FILE_NOT_FOUND') throw error;
  }
}

function* entriesOf(tree: Tree, paths: ReadonlySet<string>, spool: Spool): Generator<ArchiveEntry> {
  for (const { path, name, type, executable, size, target, kept } of tree.entries.values()) {
    if (!paths.has(path)) continue;
    if (type === 'directory') yield { name, type };
    else if (type === 'symlink' && target !== undefined) yield { name, type, target };
    else if (kept !== undefined) yield { name, type, executable, size, content: spool.read(kept) };
    else throw new Error(`the content of ${path} was not kept`);
  }
}

/** What could not be carried is not known, so nothing is done to it. */
function assertCarried({ leftOut }: Tree, paths: readonly string[]): void {
  const unknown = new Map(leftOut.map(({ path, because }) => [path, because]));
  const touched = new Set(paths);
  const inTheWay = [
    ...leftOut.map(({ path }) => path).filter((path) => isWithin(path, touched)),
    ...paths.filter((path) => !unknown.has(path) && isWithin(path, unknown)),
  ];
  if (inTheWay.length === 0) return;
  const named = inTheWay
    .slice(0, MAX_NAMED)
    .map((path) => `${path} (${unknown.get(path) ?? 'below what cannot be read'})`);
  throw new SandboxError(
    'INPUT_INVALID',
    `What the dry run did concerns what no copy could be made of: ${named.join(', ')}.`,
    {
      hint: 'Remove that first, and make the dry run again; or run the code itself.',
      details: { paths: inTheWay.slice(0, MAX_NAMED) },
    },
  );
}

async function undone(error: unknown, undo: () => Promise<void>): Promise<unknown> {
  try {
    await undo();
    return error;
  } catch (failure) {
    return new SandboxError(
      'SANDBOX_FAILED',
      `It was done only in part, and could not be undone: ${(failure as Error).message}`,
      {
        hint: 'Look through the workspace, or make a new sandbox.',
        details: { applied: true },
        cause: error,
      },
    );
  }
}

function changedSince(paths: readonly string[]): SandboxError {
  return new SandboxError(
    'WORKSPACE_CHANGED',
    `The workspace is not what the dry run began with; nothing was done. ${named(paths)}`,
    { hint: 'Make the dry run again.', details: { paths: paths.slice(0, MAX_NAMED), applied: false } },
  );
}

function changedMeanwhile(paths: readonly string[]): SandboxError {
  return new SandboxError(
    'WORKSPACE_CHANGED',
    `Something else wrote to the workspace while the dry run was applied. ${named(paths)}`,
    {
      hint: 'Stop background processes and contexts that write there, and look through these files.',
      details: { paths: paths.slice(0, MAX_NAMED), applied: true },
    },
  );
}

function named(paths: readonly string[]): string {
  const more = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
  return `Different: ${paths
    .slice(0, 3)
    .map((path) => JSON.stringify(path))
    .join(', ')}${more}.`;
}
