/** What a dry run did, for whoever decides whether it shall count. */
import { createHash } from 'node:crypto';
import type { LeftOut } from '../../archive/entry.ts';
import { printableName } from '../../archive/printableName.ts';
import type { NetworkMode } from '../../policy/policy.ts';
import type { ExecutionResult } from '../../result/result.ts';
import type { Spool } from '../../sandbox/trees/spool.ts';
import { differenceOf, isWithin, type Tree, type TreeEntry } from '../../sandbox/trees/tree.ts';
import { onOneLine } from './effectsText.ts';

/** What a file, a folder or a link is. */
export interface FileState {
  readonly type: 'file' | 'directory' | 'symlink';
  /** In bytes, of a file. */
  readonly size?: number;
  /** Of a file's content, in hexadecimal digits. */
  readonly sha256?: string;
  readonly executable?: boolean;
  /** Where a link leads, as it is written; bytes that are no text as `\xNN`. */
  readonly target?: string;
}

export interface FileEffect {
  readonly path: string;
  readonly kind: 'added' | 'changed' | 'removed';
  readonly before?: FileState;
  readonly after?: FileState;
  /** A unified diff, where both are text and not too large. */
  readonly diff?: string;
  /** Why there is none, where there could be one. */
  readonly noDiff?: 'binary' | 'large';
}

/** A host that the program asked for. */
export interface HostEffect {
  readonly host: string;
  readonly port: number;
  readonly allowed: boolean;
  readonly times: number;
}

/** All that a dry run did. */
export interface Effects {
  /** Sorted by path. */
  readonly files: readonly FileEffect[];
  /** Null where the network is open, and nobody looks. */
  readonly hosts: readonly HostEffect[] | null;
  /** How often a host was asked for besides; only so many times are noted. */
  readonly hostsNotTold: number;
  /** How many processes there were at most at one time; null where the runtime cannot tell. */
  readonly processes: number | null;
  /** What the workspace holds and the copy did not: FIFOs, sockets, and what may not be read. */
  readonly notCopied: readonly LeftOut[];
  /** What the program made and nobody can carry over; it is not part of what `commit` does. */
  readonly notCarried: readonly LeftOut[];
  /** Why `commit` would be refused; absent where nothing speaks against it. */
  readonly notCommittable?: string;
}

/** Longer texts are compared by nobody. */
export const MAX_DIFF_BYTES = 256 * 1024;

/** All diffs of one dry run together. */
const MAX_DIFFS_CHARS = 1024 ** 2;

/** Milliseconds for all of them; texts that have little in common take long, and whoever made them is not trusted. */
const MAX_DIFFS_MS = 2000;

/** What a dry run began with and what it ended with; the contents of short files are kept. */
export interface Trial {
  readonly before: Tree;
  readonly after: Tree;
  readonly beforeSpool: Spool;
  readonly afterSpool: Spool;
}

/** How many of each kind. */
export function countsOf({ files, hosts }: Effects): Readonly<Record<string, number | null>> {
  const count = (kind: FileEffect['kind']): number => files.filter((file) => file.kind === kind).length;
  return {
    ...{ added: count('added'), changed: count('changed'), removed: count('removed') },
    hosts: hosts?.length ?? null,
  };
}

/** Whether a content is kept so that it can be compared and looked at. */
export function isShort({ size }: { readonly size: number }): boolean {
  return size <= MAX_DIFF_BYTES;
}

export async function effectsOf(
  { before, after, beforeSpool, afterSpool }: Trial,
  { meta }: ExecutionResult,
  network: NetworkMode,
): Promise<Effects> {
  const { added, changed, removed } = differenceOf(before, after);
  const changes: [path: string, before: TreeEntry | undefined, after: TreeEntry | undefined][] = [
    ...added.map((entry) => [entry.path, undefined, entry] as [string, undefined, TreeEntry]),
    ...changed.map((one) => [one.after.path, one.before, one.after] as [string, TreeEntry, TreeEntry]),
    ...removed.map((entry) => [entry.path, entry, undefined] as [string, TreeEntry, undefined]),
  ];
  changes.sort(([one], [other]) => (one < other ? -1 : 1));
  const files: FileEffect[] = [];
  let room = MAX_DIFFS_CHARS;
  const until = performance.now() + MAX_DIFFS_MS;
  for (const [path, from, to] of changes) {
    const told = await diffOf(path, [from, beforeSpool], [to, afterSpool], { room, until });
    room -= told.diff?.length ?? 0;
    files.push({
      path,
      kind: from === undefined ? 'added' : to === undefined ? 'removed' : 'changed',
      ...(from === undefined ? {} : { before: stateOf(from) }),
      ...(to === undefined ? {} : { after: stateOf(to) }),
      ...told,
    });
  }
  const notCommittable = whyNot(before, after);
  return {
    files,
    hosts: network === 'open' ? null : hostsOf(meta.network?.decisions ?? []),
    hostsNotTold: meta.network?.dropped ?? 0,
    processes: meta.usage?.peakProcesses ?? null,
    notCopied: before.leftOut,
    notCarried: after.leftOut,
    ...(notCommittable === undefined ? {} : { notCommittable }),
  };
}

/** SHA-256 of everything that decides what `commit` writes, in hexadecimal digits. */
export function effectsHash({ files }: Pick<Effects, 'files'>): string {
  const hash = createHash('sha256');
  for (const { path, kind, before, after } of files) {
    hash.update(`${JSON.stringify([path, kind, stateAsList(before), stateAsList(after)])}\n`);
  }
  return hash.digest('hex');
}

function stateAsList(state: FileState | undefined): readonly unknown[] | null {
  if (state === undefined) return null;
  const { type, size = null, sha256 = null, executable = null, target = null } = state;
  return [type, size, sha256, executable, target];
}

/** As every surface prints it. */
export function effectsToJson(effects: Effects): Readonly<Record<string, unknown>> {
  const { files, hosts, hostsNotTold, processes, notCopied, notCarried, notCommittable } = effects;
  return {
    files: files.map(({ noDiff, ...file }) => ({
      ...file,
      ...(noDiff === undefined ? {} : { no_diff: noDiff }),
    })),
    ...{ hosts, hosts_not_told: hostsNotTold, processes, not_copied: notCopied, not_carried: notCarried },
    ...(notCommittable === undefined ? {} : { not_committable: notCommittable }),
  };
}

function stateOf({ type, size, sha256, executable, target }: TreeEntry): FileState {
  if (type === 'directory') return { type };
  if (type === 'symlink') return { type, target: printableName(target ?? Buffer.alloc(0)) };
  return { type, size, ...(sha256 === undefined ? {} : { sha256 }), executable };
}

type Side = readonly [entry: TreeEntry | undefined, spool: Spool];

async function diffOf(
  path: string,
  before: Side,
  after: Side,
  { room, until }: { readonly room: number; readonly until: number },
): Promise<Pick<FileEffect, 'diff' | 'noDiff'>> {
  const sides = [before, after].filter(([entry]) => entry !== undefined);
  if (sides.some(([entry]) => entry?.type !== 'file')) return {};
  if (before[0]?.sha256 === after[0]?.sha256) return {};
  const timeout = until - performance.now();
  if (timeout <= 0) return { noDiff: 'large' };
  const texts = await Promise.all([textOf(before), textOf(after)]);
  const [from, to] = texts;
  if (from === 'large' || to === 'large') return { noDiff: 'large' };
  if (from === 'binary' || to === 'binary') return { noDiff: 'binary' };
  const { createTwoFilesPatch } = await import('diff');
  const patch = createTwoFilesPatch(
    before[0] === undefined ? '/dev/null' : `a/${onOneLine(path)}`,
    after[0] === undefined ? '/dev/null' : `b/${onOneLine(path)}`,
    from.text,
    to.text,
    undefined,
    undefined,
    { context: 3, timeout },
  );
  if (patch === undefined || patch.length > room) return { noDiff: 'large' };
  return { diff: patch.replace(/^=+\n/, '') };
}

async function textOf([entry, spool]: Side): Promise<{ readonly text: string } | 'binary' | 'large'> {
  if (entry === undefined) return { text: '' };
  if (entry.size > MAX_DIFF_BYTES || entry.kept === undefined) return 'large';
  const bytes = await spool.bytes(entry.kept);
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) && !text.includes('\0') ? { text } : 'binary';
}

function hostsOf(
  decisions: readonly { readonly host: string; readonly port: number; readonly allowed: boolean }[],
): HostEffect[] {
  const hosts = new Map<string, HostEffect>();
  for (const { host, port, allowed } of decisions) {
    const key = `${onOneLine(host)}:${port} ${allowed}`;
    hosts.set(key, { host, port, allowed, times: (hosts.get(key)?.times ?? 0) + 1 });
  }
  return [...hosts.values()];
}

/** Something that was there before and cannot be read now looks as if it had been removed. */
function whyNot(before: Tree, after: Tree): string | undefined {
  const leftOut = new Map(after.leftOut.map(({ path, because }) => [path, because]));
  const unknown = leftOut.has('.') ? '.' : [...before.entries.keys()].find((path) => isWithin(path, leftOut));
  if (unknown === undefined) return undefined;
  const because = leftOut.get(unknown) ?? 'it is below what cannot be read';
  return `What became of ${JSON.stringify(unknown)} cannot be carried over: ${because}.`;
}
