/** What a dry run did, as a text that a person reads before it counts. Pure. */
import type { LeftOut } from '../../archive/entry.ts';
import type { Effects, FileEffect, FileState } from './effects.ts';

/** More lines than that are read by nobody; their number is told, and the hash is over all of them. */
const MAX_LINES = 10_000;

/** Every change on a line, with its hash, and then the diffs. */
export function effectsText(effects: Effects): string {
  const { files, processes, notCopied, notCarried } = effects;
  return [
    files.length === 0 ? 'No file is different.' : `${files.length} files, folders or links are different:`,
    ...listed(files, lineOf),
    ...hostLines(effects),
    ...(processes === null ? [] : [`Processes at one time: at most ${processes}.`]),
    ...leftOutLines('Not in the copy:', notCopied),
    ...leftOutLines('Made there and not carried over:', notCarried),
    ...files.flatMap(({ diff }) => (diff === undefined ? [] : ['', diff.trimEnd()])),
    '',
  ].join('\n');
}

/** A name that a program chose, on one line: what would take effect stands there as its bytes, like `\x0a`. */
export function onOneLine(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(Buffer.from(character), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
  );
}

const SIGNS = { added: '+', changed: '~', removed: '-' } as const;

function lineOf({ path, kind, before, after, noDiff }: FileEffect): string {
  const states = [before, after].filter((state) => state !== undefined).map(sayState);
  return `${SIGNS[kind]} ${onOneLine(path)}  ${states.join(' -> ')}${noDiff === undefined ? '' : `, ${NO_DIFF[noDiff]}`}`;
}

const NO_DIFF = { binary: 'not a text', large: 'too much for a diff' } as const;

function sayState(state: FileState): string {
  if (state.type === 'symlink') return `link to ${onOneLine(state.target ?? '')}`;
  if (state.type === 'directory') return 'folder';
  return `${state.executable ? 'program' : 'file'}, ${state.size ?? 0} bytes, SHA-256 ${state.sha256 ?? ''}`;
}

function hostLines({ hosts, hostsNotTold }: Effects): string[] {
  if (hosts === null) return ['Hosts that were asked for: not known, the network is open.'];
  if (hosts.length === 0) return [];
  const lines = listed(
    hosts,
    ({ host, port, allowed, times }) =>
      `  ${onOneLine(host)}:${port} ${allowed ? 'reached' : 'refused'}${times > 1 ? `, ${times} times` : ''}`,
  );
  const more = hostsNotTold === 0 ? [] : [`  and ${hostsNotTold} times more that were not noted`];
  return ['Hosts that were asked for:', ...lines, ...more];
}

function leftOutLines(title: string, leftOut: readonly LeftOut[]): string[] {
  if (leftOut.length === 0) return [];
  return [title, ...listed(leftOut, ({ path, because }) => `  ${onOneLine(path)}: ${onOneLine(because)}`)];
}

function listed<T>(some: readonly T[], line: (one: T) => string): string[] {
  const more = some.length - MAX_LINES;
  const lines = some.slice(0, MAX_LINES).map(line);
  return more > 0 ? [...lines, `  and ${more} more that are not listed here`] : lines;
}
