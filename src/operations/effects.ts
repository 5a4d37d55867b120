/** What a dry run did, for whoever decides whether it shall count. */
import { createHash } from 'node:crypto';
import type { LeftOut } from '../archive/entry.ts';
import { printableName } from '../archive/printableName.ts';
import type { ExecutionResult } from '../result/result.ts';
import type { Spool } from '../sandbox/trees/spool.ts';
import { differenceOf, isWithin, type Tree, type TreeEntry } from '../sandbox/trees/tree.ts';

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
  readonly hosts: readonly HostEffect[];
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

export async function effectsOf(
  { before, after, beforeSpool, afterSpool }: Trial,
  { meta }: ExecutionResult,
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
    hosts: hostsOf(meta.network?.decisions ?? []),
    processes: meta.usage?.peakProcesses ?? null,
    notCopied: before.leftOut,
    notCarried: after.leftOut,
    ...(notCommittable === undefined ? {} : { notCommittable }),
  };
}

/** SHA-256 of everything that decides what `commit` writes, in hexadecimal digits. */
export function effectsHash({ files }: Pick<Effects, 'files'>): string {
  const written = files.map(({ path, kind, before, after }) => ({
    ...{ path, kind },
    before: before === undefined ? null : ordered(before),
    after: after === undefined ? null : ordered(after),
  }));
  return createHash('sha256').update(JSON.stringify(written)).digest('hex');
}

/** As every surface prints it. */
export function effectsToJson(effects: Effects): Readonly<Record<string, unknown>> {
  const { files, hosts, processes, notCopied, notCarried, notCommittable } = effects;
  return {
    files: files.map(({ noDiff, ...file }) => ({
      ...file,
      ...(noDiff === undefined ? {} : { no_diff: noDiff }),
    })),
    ...{ hosts, processes, not_copied: notCopied, not_carried: notCarried },
    ...(notCommittable === undefined ? {} : { not_committable: notCommittable }),
  };
}

/** What a person reads before it counts: every change on a line, with its hash, and then the diffs. */
export function effectsText({ files, hosts, processes, notCopied, notCarried }: Effects): string {
  const lines = files.map(
    ({ path, kind, before, after }) => `${SIGNS[kind]} ${onOneLine(path)}  ${sayChange(before, after)}`,
  );
  const asked = hosts.map(
    ({ host, port, allowed, times }) =>
      `${onOneLine(host)}:${port} ${allowed ? 'reached' : 'refused'}${times > 1 ? `, ${times} times` : ''}`,
  );
  return [
    files.length === 0 ? 'No file is different.' : `${files.length} files, folders or links are different:`,
    ...lines,
    ...(asked.length === 0 ? [] : ['Hosts that were asked for:', ...asked.map((one) => `  ${one}`)]),
    ...(processes === null ? [] : [`Processes at one time: at most ${processes}.`]),
    ...leftOutLines('Not in the copy:', notCopied),
    ...leftOutLines('Made there and not carried over:', notCarried),
    ...files.flatMap(({ diff }) => (diff === undefined ? [] : ['', diff.trimEnd()])),
    '',
  ].join('\n');
}

const SIGNS = { added: '+', changed: '~', removed: '-' } as const;

function leftOutLines(title: string, leftOut: readonly LeftOut[]): string[] {
  return leftOut.length === 0
    ? []
    : [title, ...leftOut.map(({ path, because }) => `  ${onOneLine(path)}: ${onOneLine(because)}`)];
}

function sayChange(before: FileState | undefined, after: FileState | undefined): string {
  if (before === undefined) return sayState(after);
  if (after === undefined) return sayState(before);
  return `${sayState(before)} -> ${sayState(after)}`;
}

function sayState(state: FileState | undefined): string {
  if (state === undefined) return '';
  if (state.type === 'symlink') return `link to ${onOneLine(state.target ?? '')}`;
  if (state.type === 'directory') return 'folder';
  return `${state.executable ? 'program' : 'file'}, ${state.size ?? 0} bytes, SHA-256 ${state.sha256 ?? ''}`;
}

function stateOf({ type, size, sha256, executable, target }: TreeEntry): FileState {
  if (type === 'directory') return { type };
  if (type === 'symlink') return { type, target: printableName(target ?? Buffer.alloc(0)) };
  return { type, size, ...(sha256 === undefined ? {} : { sha256 }), executable };
}

/** A name that a program chose, on one line: what would take effect stands there as its bytes, like `\x0a`. */
function onOneLine(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(Buffer.from(character), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
  );
}

function ordered({ type, size = null, sha256 = null, executable = null, target = null }: FileStateLike) {
  return [type, size, sha256, executable, target];
}

type FileStateLike = {
  readonly [Key in keyof FileState]: FileState[Key] | null;
};

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
  const unknown = after.leftOut.find(
    ({ path }) => path === '.' || [...before.entries.keys()].some((known) => isWithin(known, path)),
  );
  if (unknown === undefined) return undefined;
  return `What became of ${JSON.stringify(unknown.path)} cannot be carried over: ${unknown.because}.`;
}
