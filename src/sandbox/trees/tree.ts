/** What a workspace holds, as far as it can be carried. Pure. */
import type { LeftOut } from '../../archive/entry.ts';
import type { Kept } from './spool.ts';

/** A file, folder or link by what it is; when it was changed and who owns it are not part of that. */
export interface TreeEntry {
  readonly name: Buffer;
  /** For people; no two names look alike. */
  readonly path: string;
  readonly type: 'file' | 'directory' | 'symlink';
  readonly executable: boolean;
  /** In bytes; 0 for what is no file. */
  readonly size: number;
  /** Of a file's content, in hexadecimal digits. */
  readonly sha256?: string;
  /** Where a link leads, as it is written. */
  readonly target?: Buffer;
  /** Where its content is kept, where it was. */
  readonly kept?: Kept;
}

export interface Tree {
  /** By path, in the order in which they came: a folder before what is in it. */
  readonly entries: ReadonlyMap<string, TreeEntry>;
  /** What is there and cannot be carried. */
  readonly leftOut: readonly LeftOut[];
}

/** How one tree became another; all by path. */
export interface Difference {
  readonly added: readonly TreeEntry[];
  readonly changed: readonly { readonly before: TreeEntry; readonly after: TreeEntry }[];
  readonly removed: readonly TreeEntry[];
}

export function differenceOf(before: Tree, after: Tree): Difference {
  const added: TreeEntry[] = [];
  const changed: { before: TreeEntry; after: TreeEntry }[] = [];
  for (const entry of after.entries.values()) {
    const earlier = before.entries.get(entry.path);
    if (earlier === undefined) added.push(entry);
    else if (!isSame(earlier, entry)) changed.push({ before: earlier, after: entry });
  }
  const removed = [...before.entries.values()].filter(({ path }) => !after.entries.has(path));
  return { added, changed, removed };
}

export function isSame(one: TreeEntry, other: TreeEntry): boolean {
  if (one.type !== other.type) return false;
  if (one.type === 'symlink') return one.target?.equals(other.target ?? Buffer.alloc(0)) ?? false;
  if (one.type === 'directory') return true;
  return one.executable === other.executable && one.size === other.size && one.sha256 === other.sha256;
}

/** The paths at which two trees are not the same, those included that cannot be carried; none when they are. */
export function differingPaths(one: Tree, other: Tree): string[] {
  const { added, changed, removed } = differenceOf(one, other);
  const paths = [...added, ...changed.map(({ after }) => after), ...removed].map(({ path }) => path);
  return [...new Set([...paths, ...leftOutInOne(one, other), ...leftOutInOne(other, one)])].sort();
}

function leftOutInOne(one: Tree, other: Tree): string[] {
  const known = new Set(other.leftOut.map(({ path, because }) => `${path}\0${because}`));
  return one.leftOut.filter(({ path, because }) => !known.has(`${path}\0${because}`)).map(({ path }) => path);
}

/** A set of paths, or a map from them. */
type Paths = Pick<ReadonlySet<string>, 'has'>;

/** Whether a path is one of some, or stands below one of them. */
export function isWithin(path: string, some: Paths): boolean {
  return some.has(path) || isBelow(path, some);
}

function isBelow(path: string, some: Paths): boolean {
  for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
    if (some.has(path.slice(0, slash))) return true;
  }
  return false;
}

/** Those that stand below none of the others: who removes them has removed all. */
export function topmost(paths: readonly string[]): string[] {
  const all = new Set(paths);
  return paths.filter((path) => !isBelow(path, all));
}
